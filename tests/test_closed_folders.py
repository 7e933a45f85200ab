"""Folders and files that this user may not read, or look into: commands say that, and not that nothing is there."""

from __future__ import annotations

import glob
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from click.testing import CliRunner

from loader_service.catalog.closed_folders import line_of_closed
from loader_service.catalog.paths import expand_patterns
from loader_service.catalog.scan import catalog_scan
from loader_service.cli import cli
from loader_service.conversion.work_folder import WORK_NAME, WorkFolder
from loader_service.conversion.write_remedies import OutputError, add_who_goes_on
from loader_service.errors import ConfigError
from loader_service.pack.packing import PackOptions, pack
from loader_service.pack.sources.source_kind import Look, PackError
from loader_service.rewriting import flatten, join  # noqa: F401 - a stranger may not be able to import them
from loader_service.scan_options import ScanOptions
from tests.support.users import STRANGER, acting_as, as_root

pytestmark = as_root


@pytest.fixture
def rooms() -> Iterator[Path]:
    """Return a folder with files, one that nobody but root may enter, and one that others may not list."""
    with tempfile.TemporaryDirectory(dir="/tmp") as place:  # those of pytest are closed to others
        os.chmod(place, 0o755)
        for name, mode in (("open", 0o777), ("closed", 0o700), ("unlisted", 0o711)):
            folder = Path(place, name)
            folder.mkdir()
            with h5py.File(folder / "a.h5", "w") as file:
                file["x"] = np.zeros((4, 3))
            folder.chmod(mode)
        Path(place, "open", "a.h5").chmod(0o600)
        yield Path(place)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("closed/a.h5", "cannot be reached: permission denied in the folder '.*/closed'; change its mode"),
        ("closed/*.h5", "cannot be reached: permission denied in the folder '.*/closed'; change its mode"),
        ("unlisted/*.h5", "cannot be reached: permission denied in the folder '.*/unlisted'; change its mode"),
        ("closed", "is a directory; what is in it cannot be read: permission denied; change its mode"),
        ("unlisted/none.h5", "does not exist; check the path: looked in '.*/unlisted'"),
        ("open/a.h5", "cannot be read: permission denied; change its mode, or leave it out"),
    ],
)
def test_files_that_a_user_may_not_reach_are_not_said_to_be_missing(rooms, name, message):
    with acting_as(STRANGER), pytest.raises(ConfigError, match=message):
        expand_patterns([str(rooms / name)])


@pytest.mark.parametrize("pattern", ["*/a.h5", "*/*.h5", "**/*.h5", "clos*/*", "**/closed/a.h5"])
def test_folders_that_a_pattern_leads_into_and_a_user_may_not_read_are_named(rooms, pattern):
    place = str(rooms / pattern)
    assert line_of_closed([place]) == ""
    os.chmod(rooms / "open" / "a.h5", 0o644)
    with acting_as(STRANGER):
        line = line_of_closed([place])
        if "open" in " ".join(glob.glob(place, recursive=True)):
            assert f"{rooms}/open/a.h5" in expand_patterns([place])
        else:
            with pytest.raises(ConfigError, match=r"can be reached: permission denied in '.*/closed/?'; change its"):
                expand_patterns([place])
    assert f"'{rooms}/closed'" in line
    assert (f"'{rooms}/unlisted'" in line) == (pattern in {"*/*.h5", "**/*.h5"})
    assert f"'{rooms}/open'" not in line


def test_the_catalog_has_a_line_of_closed_folders(rooms, tmp_path, monkeypatch):
    pattern = f"{rooms}/*/*.h5"
    with acting_as(STRANGER):
        line = line_of_closed([pattern])
    monkeypatch.setattr(catalog_scan, "line_of_closed", lambda _: line)  # a stranger can import nothing more
    for _ in range(2):  # found, and kept
        catalog = catalog_scan.scan([pattern], ScanOptions(), cache_dir=tmp_path, processes=0)
        assert line.startswith("permission denied in 2 folders that the pattern leads into")
        assert line in catalog.left_out
        catalog.close()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("closed/a.h5", "cannot be reached: Permission denied; mend its folders"),
        ("closed", "cannot be read: permission denied; change its mode"),
        ("open/a.h5", "cannot be read: permission denied; change its mode"),
    ],
)
def test_what_is_to_be_packed_and_may_not_be_read_is_said_to_be_that(rooms, name, message):
    with acting_as(STRANGER), pytest.raises(PackError, match=message):
        Look(str(rooms / name))


@pytest.mark.parametrize("command", ["join", "flatten"])
def test_an_output_in_a_folder_that_a_user_may_not_enter_is_refused_in_a_line(rooms, command):
    os.chmod(rooms / "open" / "a.h5", 0o644)
    words = [command, str(rooms / "open" / "a.h5"), "-o", str(rooms / "closed" / "b.h5")]
    with acting_as(STRANGER):
        error = CliRunner().invoke(cli, words, standalone_mode=False).exception
    assert isinstance(error, ConfigError)
    assert str(error).endswith("closed/b.h5' cannot be made: Permission denied; give another --output")


@pytest.mark.parametrize("folder", ["closed", "closed/new"])
def test_nothing_is_packed_into_a_folder_that_a_user_may_not_enter(rooms, folder):
    options = PackOptions((str(rooms),), output=str(rooms / folder / "b.h5"))
    with acting_as(STRANGER), pytest.raises(OutputError, match="Permission denied; name a place where you may write"):
        pack([], options, lambda *_: None)


def test_nothing_is_unpacked_into_a_folder_that_a_user_may_not_enter(rooms):
    place = rooms / "closed" / "new"
    with acting_as(STRANGER):
        with pytest.raises(OutputError, match="Permission denied; name a place where you may write") as caught:
            WorkFolder(place, "a plan")
        add_who_goes_on(caught.value, place / WORK_NAME)  # which looks for it
