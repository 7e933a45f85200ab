"""Lists what an HDF5 file holds, and refuses what would read other files; knows nothing of videos."""

from __future__ import annotations

import functools
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import h5py

from loader_service.catalog.hdf5.attributes import names_of_attributes
from loader_service.catalog.hdf5.filters import check_filters
from loader_service.catalog.hdf5.foreign_storage import check_storage, lies_elsewhere
from loader_service.catalog.hdf5.tree import DatasetInfo, ElementKind, Tree
from loader_service.catalog.inner_paths import join, parent_of, to_text
from loader_service.errors import CatalogError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np

    Expect = Callable[[Sequence[int]], None]


#: Links of a group whose objects are expected at a time.
_AHEAD = 256


class _TreeLink(NamedTuple):
    """A link: its group, its name there and from the root, and what it leads to."""

    group: Any
    last: bytes
    name: bytes
    type: int
    place: Any  # of a hard link: where its object's header lies


def read_tree(file: h5py.File, *, allow_external: bool = False, expect: Expect | None = None) -> Tree:
    """List a file's datasets; what is read next is told to `expect`, as places in the file.

    Soft links are not followed: what they lead to is found at its own place, as a group that has two names is at the
    first of these. External links are not followed either.

    Raises
    ------
    CatalogError
        When the file has an external link, or a dataset that is virtual or stored in other files, and
        `allow_external` is False; when it is True, and such a dataset's other files are not there; when a dataset was
        compressed by a filter that HDF5 does not have here.
    """
    listing = _Listing(os.fsdecode(file.id.name), allow_external=allow_external)
    root = h5py.h5g.open(file.id, b"/")
    if names := names_of_attributes(root):
        listing.attributed[""] = names
    entered = {h5py.h5o.get_info(root).addr}
    walk = [_links_in(root, b"", expect)]
    while walk:
        link = next(walk[-1], None)
        if link is None:
            walk.pop()
            continue
        path = to_text(link.name)
        if link.type != h5py.h5l.TYPE_HARD:
            listing.add_link(path, link)
            continue
        node = h5py.h5o.open(link.group, link.last)  # four times as fast as by its name from the root
        parent = parent_of(path)
        listing.parents.add(parent)
        if h5py.h5a.get_num_attrs(node):
            listing.attributed[path] = names_of_attributes(node)
        if isinstance(node, h5py.h5d.DatasetID):
            listing.add_dataset(path, node)
            listing.add_name(path, parent, link.place)
        elif isinstance(node, h5py.h5g.GroupID):
            listing.add_group(path, link.place)
            if link.place not in entered:  # hard links may form a circle
                entered.add(link.place)
                walk.append(_links_in(node, link.name + b"/", expect))
    return listing.tree()


@dataclass
class _Listing:
    """What was found in a file by now, as `Tree` has it; `parents` are the groups that hold something."""

    file_path: str
    allow_external: bool
    datasets: dict[str, DatasetInfo] = field(default_factory=dict)
    attributed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    external_links: list[str] = field(default_factory=list)
    unwritten: set[str] = field(default_factory=set)
    links: list[tuple[str, str]] = field(default_factory=list)
    groups: dict[Any, str] = field(default_factory=dict)
    parents: set[str] = field(default_factory=set)
    places: dict[Any, str] = field(default_factory=dict)
    second_names: dict[str, str] = field(default_factory=dict)

    def add_link(self, path: str, link: _TreeLink) -> None:
        """Note a soft or external link, which is not followed; CatalogError for an external one that is not allowed."""
        if link.type == h5py.h5l.TYPE_EXTERNAL:
            if not self.allow_external:
                raise _external(link)
            self.external_links.append(path)
        if link.type == h5py.h5l.TYPE_SOFT:
            self.links.append((path, _target_of(link)))

    def add_dataset(self, path: str, node: h5py.h5d.DatasetID) -> None:
        """Add a dataset; CatalogError for one that lies elsewhere, or was compressed by an unknown filter."""
        info = self.datasets[path] = _examine(path, node)
        # An address means that the bytes lie in this file, in one piece; only the others need a closer look.
        if info.address is None:
            check_storage(self.file_path, path, node, allow_external=self.allow_external)
            check_filters(path, node)
            if info.size_bytes and not node.get_storage_size() and not lies_elsewhere(node):
                self.unwritten.add(path)

    def add_name(self, path: str, parent: str, place: Any) -> None:
        """Note a dataset that has another name before this, in its own group if it can be; `place`: of its header."""
        first = self.places.setdefault(place, path)
        if first != path:
            beside = self.places.setdefault((parent, place), path)
            self.second_names[path] = beside if beside != path else first

    def add_group(self, path: str, place: Any) -> None:
        """Add a group, or a further name of one; `place`: where its header lies."""
        if place in self.groups:
            self.links.append((path, self.groups[place]))
        else:
            self.groups[place] = path

    def tree(self) -> Tree:
        """Return all as a value."""
        return Tree(
            self.datasets,
            empty_groups=tuple(sorted(set(self.groups.values()) - self.parents)),
            external_links=tuple(self.external_links),
            attributed=self.attributed,
            unwritten=frozenset(self.unwritten),
            links=tuple(self.links),
            second_names=self.second_names,
        )


def _external(link: _TreeLink) -> CatalogError:
    target = to_text(link.group.links.get_val(link.last)[0])
    return CatalogError(
        f"{to_text(link.name)!r} is an external link to {target!r}, and a link could name any file; give that file "
        "instead, copy the data into this one, or leave it out with --allow-external"
    )


def _target_of(link: _TreeLink) -> str:
    """Return the path from the root that a soft link leads to."""
    target = to_text(link.group.links.get_val(link.last))
    return target.strip("/") if target.startswith("/") else join(parent_of(to_text(link.name)), target)


def _links_in(group: Any, above: bytes, expect: Expect | None) -> Iterator[_TreeLink]:
    """Yield the links in a group, by name; `above`: what their names from the root begin with."""
    links: list[_TreeLink] = []
    group.links.iterate(
        lambda last, info: links.append(_TreeLink(group, last, above + last, info.type, info.u)), info=True
    )
    for begin in range(0, len(links), _AHEAD):
        some = links[begin : begin + _AHEAD]
        if expect is not None:
            expect([link.place for link in some if link.type == h5py.h5l.TYPE_HARD])
        yield from some


def _examine(path: str, dataset: Any) -> DatasetInfo:
    shape = dataset.shape if dataset.shape is not None else (0,)  # of no dataspace, as h5py.Empty
    element = dataset.get_type()
    address: int | None = dataset.get_offset() if _is_as_in_memory(element) else None
    size_bytes = element.get_size()
    for extent in shape:
        size_bytes *= extent
    return DatasetInfo(path, _kind_of(element), shape, size_bytes, address, dtype_of(element))


def _is_as_in_memory(element: Any) -> bool:
    """Tell whether numbers lie in the file with all their bits, as NumPy has them: no 12 of 16 bits, no bfloat16.

    Byte order is told by the dtype.
    """
    kind = element.get_class()
    base = element.get_super() if kind == h5py.h5t.ENUM else element
    if kind == h5py.h5t.FLOAT:
        return any(base.equal(each) for each in _IEEE)
    if kind in _WHOLE:
        return bool(base.get_precision() == 8 * base.get_size() and base.get_offset() == 0)
    return bool(kind != h5py.h5t.BITFIELD)


_IEEE = tuple(getattr(h5py.h5t, f"IEEE_F{bits}{order}") for bits in (32, 64, 16) for order in ("LE", "BE"))
_WHOLE = frozenset({h5py.h5t.INTEGER, h5py.h5t.ENUM})


def dtype_of(element: Any) -> str:
    """Return an element type as `DatasetInfo` has it."""
    kind = _kind_of(element)
    if kind is ElementKind.BYTES:  # a file may hold a million of them, and NumPy's dtype takes 9 µs
        return "uint8" if element.get_sign() == h5py.h5t.SGN_NONE else "int8"
    if kind is ElementKind.TEXT:
        return "S" if element.is_variable_str() else f"S{element.get_size()}"
    of_elements = element.get_class()
    vlen = of_elements == h5py.h5t.VLEN
    base = element.get_super() if vlen else element
    if of_elements in _PERHAPS_BITS and _are_foreign_bits(base):
        return ""
    try:
        dtype = base.dtype
    except TypeError:
        return ""  # NumPy has no such type
    name = _name_of(dtype)
    return f"vlen {name}" if vlen and name else name


@functools.cache
def _name_of(dtype: np.dtype[Any]) -> str:
    """Return the name of numbers that are served; empty for others. NumPy takes 20 µs to find it."""
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        return ""
    return str(dtype.name if dtype.isnative else dtype.str)


def _kind_of(element: Any) -> ElementKind:
    kind = element.get_class()
    if kind == h5py.h5t.VLEN:
        base = element.get_super()
        is_bytes = base.get_class() == h5py.h5t.INTEGER and base.get_size() == 1
        return ElementKind.VLEN_BYTES if is_bytes else ElementKind.OTHER
    if kind == h5py.h5t.INTEGER:
        return ElementKind.BYTES if element.get_size() == 1 else ElementKind.INTEGER
    if kind == h5py.h5t.COMPOUND:
        names = b" ".join(element.get_member_name(number) for number in range(min(3, element.get_nmembers())))
        return ElementKind.COMPLEX if _COMPLEX.search(names) else ElementKind.COMPOUND
    if kind == h5py.h5t.BITFIELD and _are_foreign_bits(element):
        return ElementKind.BITS
    return _OTHER_KINDS.get(kind, ElementKind.OTHER)


_OTHER_KINDS = {
    h5py.h5t.FLOAT: ElementKind.FLOAT,
    h5py.h5t.STRING: ElementKind.TEXT,
    h5py.h5t.OPAQUE: ElementKind.OPAQUE,
    h5py.h5t.REFERENCE: ElementKind.REFERENCE,
}


_PERHAPS_BITS = frozenset({h5py.h5t.BITFIELD, h5py.h5t.VLEN})


def _are_foreign_bits(element: Any) -> bool:
    """Tell whether elements are bits in another byte order than memory's, which HDF5 converts to no numbers."""
    return bool(element.get_class() == h5py.h5t.BITFIELD and element.get_order() != h5py.h5t.NATIVE_B8.get_order())


#: Both members of a complex number, as h5py, MATLAB and Velox call them.
_COMPLEX = re.compile(rb"^(r i|re(al)?(\w*) im(ag)?\3)$")
