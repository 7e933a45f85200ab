"""The native code is optional: compiled where it can be, refused where it does not fit, and never in the way."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import simplejpeg

from loader_service.native import build, library
from loader_service.native.library import native_library, native_text
from loader_service.worker import native_jpeg
from loader_service.worker.native_jpeg import NativeDecoder


@pytest.fixture(autouse=True)
def loaded_anew() -> Iterator[None]:
    native_library.cache_clear()
    yield
    native_library.cache_clear()


def test_what_a_compiler_makes_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if build.compiler() is None:
        pytest.skip("there is no C compiler on this host")
    target = tmp_path / "made.so"
    assert build.compile_library(target, ["-O0", "-Werror"]) is None, "a warning of the compiler is an error here"
    assert list(tmp_path.iterdir()) == [target]
    monkeypatch.setattr(library, "LIBRARY", target)
    found = native_library()
    assert found.functions is not None
    assert found.has_avx2 == ("avx2" in Path("/proc/cpuinfo").read_text())
    assert native_text().startswith("native code")


def test_what_other_processors_get_compiles_and_decodes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if build.compiler() is None:
        pytest.skip("there is no C compiler on this host")
    target = tmp_path / "made.so"
    assert build.compile_library(target, ["-O0", "-Werror", "-DNATIVE_OTHER_PROCESSOR"]) is None
    monkeypatch.setattr(library, "LIBRARY", target)
    found = native_library()
    assert found.functions is not None
    assert not found.has_avx2
    assert native_text() == "native code, without AVX2"
    native_jpeg.native_problem.cache_clear()
    assert native_jpeg.native_problem() == "this processor has no AVX2"
    native_jpeg.native_problem.cache_clear()
    jpeg = bytes(simplejpeg.encode_jpeg(np.zeros((16, 16, 3), np.uint8)))
    assert not NativeDecoder(found.functions).decode(jpeg, np.empty((16, 16, 3), np.uint8), swapped=False)


@pytest.mark.parametrize(
    ("command", "said"),
    [("no-such-compiler", "there is no C compiler"), ("false", "ended with code 1"), ("/dev/null", "there is no C")],
)
def test_without_a_working_compiler_there_is_no_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, said: str
) -> None:
    old = tmp_path / "made.so"
    old.write_bytes(b"of other sources")
    monkeypatch.setenv("CC", command)
    assert said in str(build.compile_library(old))
    assert list(tmp_path.iterdir()) == [], "what other sources made would be used in place of these"


def test_a_library_that_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "LIBRARY", tmp_path / "none.so")
    assert native_library().functions is None
    assert native_text() == "no native code: it was not compiled; install a C compiler, then this package again"


def test_a_library_that_cannot_be_loaded_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"\x7fELF of something else")
    monkeypatch.setattr(library, "LIBRARY", broken)
    assert native_library().functions is None
    assert "broken.so" in native_text()


class _OfOtherSources:
    def __init__(self, path: str) -> None:
        self.native_sources_key = ctypes.PYFUNCTYPE(ctypes.c_uint)(lambda: 7)
        self.native_has_avx2 = ctypes.PYFUNCTYPE(ctypes.c_int)(lambda: 1)


@pytest.mark.parametrize(("key", "used"), [(7, True), (8, False), (0, True)])
def test_a_library_of_other_sources_than_those_beside_it_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: int, used: bool
) -> None:
    (tmp_path / "old.so").touch()
    monkeypatch.setattr(library, "LIBRARY", tmp_path / "old.so")
    monkeypatch.setattr(library.ctypes, "CDLL", _OfOtherSources)
    monkeypatch.setattr(library, "sources_key", lambda: key)
    assert (native_library().functions is not None) == used
    assert native_text() == ("native code" if used else "no native code: its sources are newer; run `make native`")
