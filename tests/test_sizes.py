"""How many there are of something, as people write it."""

from __future__ import annotations

from loader_service.sizes import counted


def test_one_is_not_several():
    for what, many in (("file", "files"), ("class", "classes"), ("entry", "entries"), ("array", "arrays")):
        assert [counted(count, what) for count in (0, 1, 2)] == [f"0 {many}", f"1 {what}", f"2 {many}"]
    assert counted(2000, "step", ",") == "2,000 steps"
