"""The budget is never exceeded, forms in use get the same part of their frames, and others what is left."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from loader_service.frame_cache.cells import Cells
from loader_service.frame_cache.form_shares import FormNeed, shares

FORMS = st.lists(
    st.tuples(st.integers(1, 5_000), st.integers(1, 10_000), st.booleans(), st.integers(0, 5_000), st.integers(0, 99)),
    max_size=8,
).map(
    lambda drawn: [
        FormNeed(f"form{number}", Cells(frames, size), kept, is_used, used_at)
        for number, (frames, size, is_used, kept, used_at) in enumerate(drawn)
    ]
)


def used(*sizes: tuple[int, int]) -> list[FormNeed]:
    return [FormNeed(f"form{number}", Cells(*size), 0, True, 0.0) for number, size in enumerate(sizes)]


@given(st.integers(0, 10**8), FORMS)
def test_files_take_no_more_than_the_budget(budget: int, forms: list[FormNeed]) -> None:
    given_blocks = shares(budget, forms)
    taken = sum(form.cells.file_bytes(given_blocks[form.name]) for form in forms if given_blocks[form.name])

    assert set(given_blocks) == {form.name for form in forms}
    assert taken <= budget
    assert all(0 <= given_blocks[form.name] <= form.cells.blocks or not form.is_used for form in forms)
    assert all(given_blocks[form.name] <= form.kept for form in forms if not form.is_used)


def test_a_budget_for_all_keeps_all() -> None:
    forms = used((1600, 1000), (320, 50))

    assert shares(10**7, forms) == {"form0": 100, "form1": 20}


def test_forms_in_use_get_the_same_part() -> None:
    forms = used((16_000, 1000), (3_200, 5_000), (1_600, 100))
    needed = sum(form.cells.blocks * form.cells.block_bytes for form in forms)
    found = shares(needed // 2, forms)

    assert all(0.47 <= found[form.name] / form.cells.blocks <= 0.5 for form in forms)


def test_of_forms_that_nobody_uses_the_latest_keeps_what_is_left() -> None:
    cells = Cells(160, 100)
    forms = [
        FormNeed("now", cells, 0, True, 9.0),
        FormNeed("before", cells, 10, False, 8.0),
        FormNeed("long ago", cells, 10, False, 1.0),
    ]

    assert shares(cells.file_bytes(10) * 2 + 1, forms) == {"now": 10, "before": 10, "long ago": 0}
