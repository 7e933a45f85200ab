"""The layouts of encoded frames. A new one is a file in this folder and a row in `LAYOUTS`."""

from __future__ import annotations

from typing import Any

from loader_service.catalog.hdf5.tree import ElementKind
from loader_service.catalog.layouts.datasets import Datasets
from loader_service.catalog.layouts.flat import Flat
from loader_service.catalog.layouts.layout import Layout
from loader_service.catalog.layouts.nested import Nested
from loader_service.catalog.layouts.padded import Padded
from loader_service.catalog.layouts.raw_rows import RawRows
from loader_service.catalog.layouts.singles import Singles
from loader_service.catalog.layouts.vlen import Vlen

#: In the order in which they are tried. A file with vlen frames may also hold uint8 thumbnails, so vlen comes first;
#: flat bytes with offsets would also pass for a frame, so they come before frames in datasets of their own, of which
#: those in a group for each frame come first; where the names of others do not count, each is a video of one frame.
LAYOUTS: tuple[Layout[Any], ...] = (
    Vlen(),
    RawRows(),
    Flat(),
    Padded(),
    Nested(),
    Datasets(),
    Singles(),
)

#: The same by the names that catalogs have for them.
LAYOUT_NAMED = {layout.name: layout for layout in LAYOUTS}

#: Elements that can hold an image: all at which some layout looks.
IMAGE_KINDS = frozenset[ElementKind]().union(*(layout.kinds for layout in LAYOUTS))
