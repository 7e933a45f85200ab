"""Arrays whose sides differ are refused by pack and unpack; pictures of any size, and all else, are not."""

from __future__ import annotations

import pytest

from loader_service.conversion.uneven_arrays import refuse_uneven
from loader_service.errors import ConfigError
from loader_service.protocol.fields import CatalogField


def test_arrays_whose_sides_differ_are_refused_with_the_remedy() -> None:
    boxes = CatalogField("boxes", "array", "float32", (0, 4), most=(5, 4))
    even = CatalogField("qpos", "array", "float32", (14,))
    with pytest.raises(ConfigError, match=r"cannot be converted: 'boxes' \(0, 4\); serve them"):
        refuse_uneven([even, boxes], "serve them")


def test_pictures_of_any_size_and_even_arrays_pass() -> None:
    fields = [
        CatalogField("frames", "image", "uint8", (0, 0, 3), most=(40, 40, 3)),
        CatalogField("qpos", "array", "float32", (14,)),
    ]
    assert not any(field.differs and field.kind == "array" for field in fields)
    refuse_uneven(fields, "serve them")
