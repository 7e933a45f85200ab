"""Where the command begins: Ctrl-C while modules are imported, and how little is imported before that can be heard."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: Interrupts this process when it is about to import a module, and then runs the command.
_INTERRUPTED_AT = """
import os, signal, sys
class Finder:
    def find_spec(self, name, *_):
        if name == sys.argv[-1]:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
if "ignored" in sys.argv:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
from loader_service.entry_point import main
main()
"""


def _python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", code, *arguments]
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize(
    "module",
    ["loader_service.cli", "numpy.linalg", "zmq.backend", "loader_service.web_options", "loader_service.daemon.pool"],
)
def test_ctrl_c_ends_the_command_quietly_whatever_is_being_imported(module):
    ended = _python(_INTERRUPTED_AT, "start", "none.h5", module)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


def test_ctrl_c_that_is_ignored_stays_ignored():
    ended = _python(_INTERRUPTED_AT, "ignored", "zmq.backend")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "No such command 'ignored'" in ended.stderr


def test_little_is_imported_before_ctrl_c_is_heard():
    code = "import loader_service.entry_point, sys; print(*sys.modules)"
    found = set(_python(code).stdout.split())
    assert {each for each in found if each.startswith("loader_service")} == {
        "loader_service",
        "loader_service.boot",
        "loader_service.entry_point",
    }
    assert not found & {"click", "numpy", "zmq", "h5py", "logging", "typing"}
