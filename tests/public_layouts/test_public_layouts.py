"""Files as public projects write them are served undeclared, right in every byte, or refused with what helps."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest

from loader_service.errors import CatalogError, ConfigError
from tests.public_layouts.expectations import CASES, Case, Refused
from tests.public_layouts.not_yet import NOT_YET
from tests.public_layouts.reading import failure, files_of, options_of
from tests.public_layouts.table import TABLE
from tests.support.catalogs import catalog_of

OPTION = " + option"


def parameters() -> list[object]:
    """Return a parameter for each case without options, and one for each with the options it needs."""
    return [
        pytest.param(case, declared, id=name, marks=_marks(name))
        for case in TABLE.values()
        for declared in (False, True)[: 1 + case.has_option]
        for name in [case.name + OPTION * declared]
    ]


def _marks(name: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.xfail(strict=True, reason=NOT_YET[name])] if name in NOT_YET else []


@pytest.mark.parametrize(("case", "declared"), parameters())
def test_a_public_layout_is_served_or_refused_as_expected(tmp_path: Path, case: Case, declared: bool) -> None:
    layout = case.write(tmp_path)
    expected = layout.declared if declared else layout.undeclared
    assert expected is not None
    wrong = failure(tmp_path, layout, expected, options_of(tmp_path, layout) if declared else {})
    if wrong:
        pytest.fail(wrong, pytrace=False)


def test_each_case_has_a_name_of_its_own_and_each_row_of_what_does_not_hold_names_one() -> None:
    assert len(TABLE) == len(CASES)
    assert {name.removesuffix(OPTION) for name in NOT_YET} <= set(TABLE)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in TABLE.values()])
def test_every_schema_that_a_refusal_shows_is_of_use(tmp_path: Path, case: Case) -> None:
    (tmp_path / "written").mkdir()
    layout = case.write(tmp_path / "written")
    if not isinstance(layout.undeclared, Refused):
        pytest.skip("not refused")
    files = files_of(tmp_path / "written", layout)
    try:
        catalog_of(tmp_path, *files).close()
    except (CatalogError, ConfigError) as error:
        schemas = _SCHEMA.findall(str(error))
    else:
        schemas = []
    for number, (videos, fields) in enumerate(schemas):
        (tmp_path / f"{number}.toml").write_text(f"{videos}\n{fields}\n", encoding="utf-8")
        with closing(catalog_of(tmp_path, files[0], schema=str(tmp_path / f"{number}.toml"))) as found:
            assert found.frame_count > 0


#: How a message shows a schema.
_SCHEMA = re.compile(r"`(videos = [^`]*)` and `(field = [^`]*)`")
