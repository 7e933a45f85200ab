"""What the elements of a dataset or an attribute are, by the type that HDF5 has for them; each type is asked once."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import h5py

from loader_service.catalog.hdf5.tree import ElementKind

if TYPE_CHECKING:
    import numpy as np


class ElementType(NamedTuple):
    """What is known of elements; `dtype` as `DatasetInfo` has it.

    `is_as_in_memory`: they lie in the file with all their bits, as NumPy has them, in either byte order; not so are 12
    of 16 bits, and bfloat16.
    """

    kind: ElementKind
    dtype: str
    size_bytes: int
    is_as_in_memory: bool


def element_type(of: h5py.h5t.TypeID) -> ElementType:
    """Return what elements of a type are. To ask HDF5 for it all takes 20 times as long as for what it is kept under.

    Files have few types, and may have a million datasets.
    """
    return _known(of.encode())


@functools.lru_cache(maxsize=1024)
def _known(encoded: bytes) -> ElementType:
    element = h5py.h5t.decode(encoded)
    return ElementType(_kind_of(element), _dtype_of(element), element.get_size(), _is_as_in_memory(element))


def _is_as_in_memory(element: Any) -> bool:
    kind = element.get_class()
    base = element.get_super() if kind == h5py.h5t.ENUM else element
    if kind == h5py.h5t.FLOAT:
        return any(base.equal(each) for each in _IEEE)
    if kind in _WHOLE:
        return bool(base.get_precision() == 8 * base.get_size() and base.get_offset() == 0)
    return bool(kind != h5py.h5t.BITFIELD)


_IEEE = tuple(getattr(h5py.h5t, f"IEEE_F{bits}{order}") for bits in (32, 64, 16) for order in ("LE", "BE"))
_WHOLE = frozenset({h5py.h5t.INTEGER, h5py.h5t.ENUM})


def _dtype_of(element: Any) -> str:
    kind = _kind_of(element)
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


def _name_of(dtype: np.dtype[Any]) -> str:
    """Return the name of numbers that are served; empty for others."""
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
