"""How programs begin and end: garbage is looked for once all is imported, and a quick end loses nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import loader_client
import loader_service
from loader_service.children import command
from loader_service.lifeline import arguments_for
from loader_service.scan_options import ScanOptions

#: What begins with `boot`, and looks for garbage only when it says that it has imported all.
PROGRAMS = [
    path
    for package in (loader_service, loader_client)
    for path in sorted(Path(package.__file__).parent.rglob("*.py"))
    if '\nif __name__ == "__main__":' in path.read_text()
]


def run(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=300, check=False)


def test_every_program_of_the_packages_says_that_it_has_imported_all():
    told = re.compile(r"\btold\(|\bdie_with_parent\(|\bPlacementLines\(\)|\bboot\.imported\(")
    # The command line begins in `entry_point`; the others are not run by `boot`.
    others = {"boot.py", "cli.py", "__main__.py", "build.py"}
    assert [path for path in PROGRAMS if path.name not in others and not told.search(path.read_text())] == []
    assert len(PROGRAMS) > 12


def test_garbage_is_not_looked_for_while_modules_are_imported_and_is_afterwards(tmp_path, monkeypatch):
    program = "import gc; print(gc.isenabled()); from loader_service.lifeline import told; told(dict)\n"
    (tmp_path / "tells.py").write_text(program + "print(gc.isenabled(), gc.get_freeze_count() > 1000)\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    assert run(*command("tells", *arguments_for(ScanOptions()))).stdout == "False\nTrue True\n"


END = "import atexit, sys, threading, time; from loader_service.ending import end; "


@pytest.mark.parametrize(("code", "number"), [("None", 0), ("3", 3)])
def test_a_quick_end_says_all_that_was_to_be_said(code, number):
    ended = run(sys.executable, "-c", f"{END}atexit.register(print, 'last'); print('x' * 100_000); end({code})")
    assert (ended.returncode, ended.stdout, ended.stderr) == (number, "x" * 100_000 + "\nlast\n", "")


def test_the_words_of_an_end_and_other_threads_are_those_of_python():
    thread = "threading.Thread(target=lambda: (time.sleep(0.2), print('done'))).start(); "
    assert run(sys.executable, "-c", f"{END}{thread}end(4)").stdout == "done\n"
    ended = run(sys.executable, "-c", f"{END}end('wrong')")
    assert (ended.returncode, ended.stderr) == (1, "wrong\n")


def test_an_end_whose_words_nobody_can_read_is_that_of_python(monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    with open("/dev/full", "w") as full:
        words = [sys.executable, "-c", f"{END}print('lost'); end(0)"]
        ended = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, timeout=300, check=False)
    assert ended.returncode == 120
    assert b"No space left on device" in ended.stderr
