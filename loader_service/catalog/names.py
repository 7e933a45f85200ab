"""Names that mean something in a file or in a catalog; knows nothing of what bears them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from loader_service.protocol.fields import SERVICE_FIELDS

if TYPE_CHECKING:
    from collections.abc import Sequence


#: Names of datasets, or attributes, that hold labels; where both are there, the first counts.
LABEL_NAMES = ("label", "labels")

#: Names of fields that every stream has, or that mean something.
RESERVED = frozenset({"frames", "label", *SERVICE_FIELDS})

#: An attribute of the root of files that `pack` wrote: each group that holds datasets is a video, whatever its name.
PACKED = "loader_service_pack"


#: What only libraries write: axes of HDF5 and NetCDF, kinds of arrays of MATLAB, Octave and R, versions of formats.
_NOTES = frozenset(
    """
    DIMENSION_LIST DIMENSION_LABELS REFERENCE_LIST _Netcdf4Dimid _NCProperties _Netcdf4Coordinates _FillValue
    _nc3_strict PYTABLES_FORMAT_VERSION DEEPDISH_IO_VERSION HICKLE_VERSION HICKLE_PYTHON_VERSION MATLAB_class
    MATLAB_empty MATLAB_int_decode MATLAB_sparse MATLAB_object_decode MATLAB_fields H5PATH OCTAVE_NEW_FORMAT NX_class
    PSEUDOATOM rhdf5-NA.OK storage.mode HDF5_Version h5py_version NeXus_version encoding-type encoding-version
    pandas_type pandas_version
    """.split()  # noqa: SIM905 - a list of words reads better than one of quoted words
) | {PACKED}

#: What PyTables writes beside each node, always together. Users have these names, too.
_OF_PYTABLES = frozenset({"CLASS", "TITLE", "VERSION"})
_WITH_PYTABLES = _NOTES | _OF_PYTABLES | {"FLAVOR", "EXTDIM", "FILTERS"}

#: What HDF5's conventions, and h5io, write beside a dataset.
_OF_DATASETS = _WITH_PYTABLES | {"NAME"}


def has_title(names: Sequence[str]) -> bool:
    """Tell whether a group has a title of PyTables, which users may give; it is empty as a rule."""
    return _OF_PYTABLES.issubset(names)


def own_attributes(names: Sequence[str], *, dataset: bool) -> list[str]:
    """Return the names of a node's attributes without what libraries write; `dataset`: whether it is no group."""
    notes = _OF_DATASETS if dataset else _WITH_PYTABLES if _OF_PYTABLES.issubset(names) else _NOTES
    return [name for name in names if name not in notes]
