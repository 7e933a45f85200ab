"""Files of one form are decided once, and each is scanned as if it were alone, whatever its bytes say."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from loader_service.catalog.findings import pack
from loader_service.catalog.scan import known_forms, undeclared
from loader_service.catalog.scan.file_scan import scan_file
from loader_service.catalog.scan.known_forms import KnownForms
from loader_service.errors import CatalogError
from loader_service.scan_options import ScanOptions
from tests.public_layouts.pictures import depth_png, encoded, jpeg, jpegs, pixels, write_vlen


@pytest.fixture
def decided(monkeypatch):
    """Record of how many datasets the files were that were decided."""
    counts = []
    real = undeclared._decide

    def recording(hdf5, tree, options):
        counts.append(len(tree.datasets))
        return real(hdf5, tree, options)

    monkeypatch.setattr(undeclared, "_decide", recording)
    return counts


def _scan(path, known):
    """Return what a scan finds, or says, as it does for a file in a process of its own."""
    try:
        return pack(scan_file(str(path), ScanOptions(), known))
    except CatalogError as error:
        return str(error)


def _write_jpegs(file, number):
    write_vlen(file, "frames", jpegs(number, 5))
    file["actions"] = np.random.default_rng(number).normal(size=(5, 7)).astype(np.float32)
    file.create_dataset("depth", data=pixels(number, 5)[..., 0], chunks=(1, 24, 32))
    file.attrs["label"], file.attrs["fps"], file.attrs["made_at"] = number % 3, number, f"day {number}"


def _write_pixels(file, number):
    file["observations/images/top"] = pixels(number, 5)
    file["observations/qpos"] = np.random.default_rng(number).normal(size=(5, 14))
    file["action"] = np.random.default_rng(number + 1).normal(size=(5, 14))
    file.attrs["sim"] = bool(number % 2)


def _write_padded(file, number):
    rows = np.zeros((5, 9000), np.uint8)
    for row, data in zip(rows, jpegs(number, 5), strict=True):
        row[: len(data)] = np.frombuffer(data, np.uint8)
    file["images/cam"], file["images/wrist"] = rows, rows[::-1]
    file["qpos"] = np.full((5, 3), number, np.float32)


@pytest.mark.parametrize("write", [_write_jpegs, _write_pixels, _write_padded])
def test_files_that_one_program_wrote_are_decided_once_and_scanned_as_if_each_was_alone(memory_path, decided, write):
    known = KnownForms()
    for number in range(4):
        path = memory_path / f"{number}.h5"
        with h5py.File(path, "w", libver="latest" if number == 2 else None) as file:
            file["before"] = np.zeros(1000 * number + 1)  # bytes lie elsewhere in each file
            del file["before"]
            write(file, number)
        with_others = _scan(path, known)
        assert len(decided) == 1
        assert isinstance(with_others, bytes)
        assert with_others == _scan(path, KnownForms())
        del decided[1:]


def _write_with_lines(file, number):
    _write_jpegs(file, number)
    file["times"], file["note"] = np.arange(9.0), np.zeros((2, 2), np.complex64)


@pytest.mark.parametrize("write", [_write_jpegs, _write_pixels, _write_padded, _write_with_lines])
@pytest.mark.parametrize("name", ["clip_{}", "2026-{}/data", "a{:05}b/x/y", "{0:08x}-5f3a-{0:04x}"])
def test_files_whose_only_group_has_another_number_in_each_are_decided_once(memory_path, decided, name, write):
    known = KnownForms()
    for number in (1234, 5678, 9013):
        path = memory_path / f"{number}.h5"
        with h5py.File(path, "w") as file:
            write(file.create_group(name.format(number)), number)
        with_others = _scan(path, known)
        assert len(decided) == 1
        assert isinstance(with_others, bytes)
        assert with_others == _scan(path, KnownForms())
        del decided[1:]


@pytest.mark.parametrize(
    "names",
    [
        ("clip_2/q_2", "clip_3/q_2"),
        ("frame_0/q", "frame_1/q"),
        ("train_2/q", "test_2/q"),
        ("a/q", "b/q"),
        ("a_7", "a_8"),
    ],
    ids=["number_below", "first", "words", "no_number", "dataset"],
)
def test_names_that_may_say_more_than_which_file_it_is_are_decided_each(memory_path, decided, names):
    known = KnownForms()
    for name in names:
        path = memory_path / "a.h5"
        with h5py.File(path, "w") as file:
            file[name] = np.arange(60.0).reshape(20, 3)
        del decided[:]
        assert _scan(path, known) == _scan(path, KnownForms())
        assert len(decided) == 2


def test_a_group_that_a_user_names_is_looked_for_in_each_file(memory_path):
    known, options = KnownForms(), ScanOptions(frames="clip_22/frames")
    for number in (22, 33):
        with h5py.File(memory_path / f"{number}.h5", "w") as file:
            _write_jpegs(file.create_group(f"clip_{number}"), number)
    assert scan_file(str(memory_path / "22.h5"), options, known).names
    with pytest.raises(CatalogError, match="clip_22/frames"):
        scan_file(str(memory_path / "33.h5"), options, known)


def _frames(*data):
    def write(file):
        write_vlen(file, "frames", list(data))
        file["actions"] = np.ones((len(data), 2), np.float32)

    return write


def _columns(**columns):
    def write(file):
        for name, values in columns.items():
            file[name] = values

    return write


_FILM = pixels(1, 8)
_DARK = np.where(np.arange(8)[:, None, None, None] < 4, _FILM, 0)
_ONES = np.ones((8, 3), np.float32)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (_frames(*jpegs(0, 3)), _frames(*[encoded(number, "GIF") for number in range(3)])),
        (_frames(*jpegs(0, 3)), _frames(*[depth_png(number) for number in range(3)])),
        (_frames(*jpegs(0, 3)), _frames(bytes(99), bytes(88), bytes(77))),
        (_frames(*jpegs(0, 3)), _frames(jpeg(0), b"", encoded(2, "PNG"))),
        (_columns(frames=_FILM, actions=_ONES), _columns(frames=_DARK, actions=_ONES)),
        (_columns(obs=_ONES, dones=np.arange(8) == 7), _columns(obs=_ONES, dones=np.arange(8) % 4 == 3)),
        (_columns(frames=_FILM, episode_ends=[3, 8]), _columns(frames=_FILM, episode_ends=[5, 8])),
        (_columns(frames=_FILM, size=8), _columns(frames=_DARK, size=4)),
    ],
    ids=["gif", "depth", "no_pictures", "mixed", "zeros", "flags", "ends", "count"],
)
@pytest.mark.parametrize("groups", [("", ""), ("clip_22", "clip_33")], ids=["root", "groups"])
def test_bytes_that_say_something_else_are_seen_in_files_of_the_same_form(memory_path, one, other, groups):
    paths = [memory_path / "one.h5", memory_path / "other.h5"]
    for path, write, group in zip(paths, (one, other), groups, strict=True):
        with h5py.File(path, "w") as file:
            write(file.create_group(group) if group else file)
    alone = [_scan(path, KnownForms()) for path in paths]
    for order in ((0, 1, 0, 1), (1, 0, 1, 0)):
        known = KnownForms()
        assert [_scan(paths[number], known) for number in order] == [alone[number] for number in order]


def test_attributes_of_other_types_and_values_make_each_file_its_own(memory_path):
    known = KnownForms()
    for number, value in enumerate([30, 30.5, "thirty", [1, 2, 3], np.zeros(600), 31, h5py.Empty("f4")]):
        with h5py.File(memory_path / f"{number}.h5", "w") as file:
            write_vlen(file, "frames", jpegs(number, 3))
            file.attrs["fps"] = value
            file["frames"].attrs["note"] = number
        assert _scan(memory_path / f"{number}.h5", known) == _scan(memory_path / f"{number}.h5", KnownForms())


def test_only_the_forms_that_were_found_last_are_kept(memory_path, decided, monkeypatch):
    monkeypatch.setattr(known_forms, "_MOST_KEPT", 4)
    known = KnownForms()
    for count in (3, 4, 5):
        with h5py.File(memory_path / f"{count}.h5", "w") as file:
            write_vlen(file, "frames", jpegs(0, count))
            file["actions"] = np.zeros((count, 2))
    for count in (3, 4, 3, 5, 5, 3, 3):
        _scan(memory_path / f"{count}.h5", known)
    assert len(decided) == 4  # 3, 4, 5, and 3 again: 5 took its place
