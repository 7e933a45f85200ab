"""No process of a service runs a file of the current folder for having the name of a library."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import loader_client
from loader_service import boot, children
from tests.support.services import command_line, new_endpoint, running_service, started_service

#: Modules that some process of a service imports, at once or later: Python's own and others'.
NAMES = ("copy", "json", "numpy", "msgpack", "zmq", "h5py", "cv2", "simplejpeg", "click", "tqdm", "random", "argparse",
         "hashlib", "tempfile", "subprocess", "traceback", "colorsys")  # fmt: skip

#: What `python -m loader_service` itself takes from the current folder, before any line of ours runs.
NEARER = ("loader_service", "loader_client", "runpy")

#: Of what `dataset` and `connect` start, which the trainer may have imported before.
_TRAINER = """
import sys, os
import loader_client
with loader_client.connect(sys.argv[1], workers=1) as connection:
    print(sum(1 for _ in connection.batches(4, epochs=1)))
"""

_CODE = """
import lazily_{number}
import numpy, copy

class Items:
    def __len__(self):
        return 8

    def __getitem__(self, number):
        import json, msgpack, colorsys
        assert "planted" not in repr([numpy, copy, json, msgpack, colorsys]), [numpy, copy, json, msgpack, colorsys]
        return {{"number": numpy.int64(number), "sibling": numpy.int64(lazily_{number}.VALUE)}}

def change(sample, rng):
    import json, msgpack, colorsys
    assert "planted" not in repr([numpy, copy, json, msgpack, colorsys]), [numpy, copy, json, msgpack, colorsys]
    return {{**sample, "sibling": numpy.int64(lazily_{number}.VALUE)}}
"""


def plant(folder: Path, *names: str) -> None:
    for name in names:
        (folder / f"{name}.py").write_text("import os\nopen(os.environ['RAN'], 'a').write(__name__ + '\\n')\n")


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: each file in it says that it ran. Below it, Python code of the user's own."""
    folder = tmp_path / "planted"
    folder.mkdir()
    monkeypatch.setenv("RAN", str(tmp_path / "ran"))
    plant(folder, *NAMES)
    (folder / "mine.py").write_text(_CODE.format(number=1))
    (folder / "lazily_1.py").write_text("VALUE = 17\n")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def clean(planted: Path) -> Any:
    """Fails the test when a planted file ran."""
    yield planted
    ran = Path(os.environ["RAN"])
    assert not ran.exists(), f"ran: {sorted(set(ran.read_text().split()))}"


def run(*command: object, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*map(str, command)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done


def installed(name: str) -> str:
    """Return the path of a command that was installed with this package."""
    path = Path(sys.executable).with_name(name)
    if not path.exists():
        pytest.skip(f"{name} is not installed beside the interpreter")
    return str(path)


def test_a_service_with_its_workers_and_scans_runs_nothing_that_lies_there(clean: Path, small_videos: Path) -> None:
    options = {"cache_dir": clean / "cache", "afresh": True}
    with (
        running_service(small_videos / "*.h5", **options) as service,
        loader_client.connect(service.endpoint) as connection,
    ):
        assert sum(1 for _ in connection.batches(4, epochs=1)) == 3
        connection.scale(2)


def test_the_installed_command_runs_nothing_that_lies_there(clean: Path, small_videos: Path) -> None:
    plant(clean, *NEARER)
    done = run(installed("loader-service"), "inspect", f"--cache-dir={clean}/cache", small_videos / "*.h5")
    assert "3 files" in done.stdout


@pytest.mark.parametrize("path", [":/nowhere", "/nowhere:", ":"])
def test_the_installed_command_does_not_take_an_empty_entry_for_that_folder(
    clean: Path, small_videos: Path, path: str
) -> None:
    done = run(
        installed("loader-service"), "inspect", f"--cache-dir={clean}/cache", small_videos / "*.h5", PYTHONPATH=path
    )
    assert "3 files" in done.stdout


def test_python_m_does_not_take_an_empty_entry_for_that_folder(clean: Path, small_videos: Path) -> None:
    command = command_line("inspect", f"--cache-dir={clean}/cache", small_videos / "*.h5")
    run(*command, PYTHONPATH=f":{os.environ.get('PYTHONPATH', '')}")


def test_python_m_runs_nothing_that_lies_there(clean: Path, small_videos: Path) -> None:
    run(*command_line("inspect", f"--cache-dir={clean}/cache", small_videos / "*.h5"))


def test_a_private_service_runs_nothing_that_lies_there(clean: Path, small_videos: Path) -> None:
    plant(clean, *NEARER)
    script = clean.parent / "elsewhere" / "train.py"
    script.parent.mkdir()
    script.write_text(_TRAINER)
    assert run(sys.executable, script, small_videos / "*.h5", XDG_CACHE_HOME=f"{clean}/cache").stdout == "3\n"


def test_a_supervised_service_runs_nothing_that_lies_there(clean: Path, small_videos: Path) -> None:
    with started_service(small_videos / "*.h5", supervise=True, afresh=True, cache_dir=clean / "cache") as service:
        service.await_ready()
        assert service.stop() == 0


@pytest.mark.parametrize("option", ["source", "transform"])
def test_a_users_module_comes_from_there_and_what_it_imports_only_when_nothing_else_has_the_name(
    clean: Path, small_videos: Path, option: str
) -> None:
    files = [] if option == "source" else [small_videos / "*.h5"]
    code = {"source": "mine:Items"} if option == "source" else {"transform": "mine:change"}
    with (
        running_service(*files, afresh=True, cache_dir=clean / "cache", **code) as service,
        loader_client.connect(service.endpoint) as connection,
    ):
        clip = loader_client.Frame() if option == "source" else loader_client.Clip(frames=2)
        for batch in connection.batches(2, clip=clip, epochs=1):
            assert batch["sibling"].tolist() == [17, 17]


def test_a_private_service_finds_the_users_module_there(clean: Path) -> None:
    with loader_client.connect(service={"source": "mine:Items"}, workers=1) as connection:
        batches = list(connection.batches(4, clip=loader_client.Frame(), epochs=1))
    assert [batch["sibling"].tolist() for batch in batches] == [[17] * 4] * 2


def test_a_users_module_with_the_name_of_a_library_is_refused_by_name(planted: Path, small_videos: Path) -> None:
    (planted / "copy.py").write_text("def change(sample, rng): return sample\n")
    command = command_line(
        "start", f"--endpoint={new_endpoint()}", "--transform=copy:change", small_videos / "part0.h5"
    )
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 2
    assert f"'copy' is a module in {str(planted)!r}, and Python or the service uses another of that name" in done.stderr


def test_what_pythonpath_names_can_still_be_imported(clean: Path, tmp_path: Path) -> None:
    (tmp_path / "library").mkdir()
    shutil.move(clean / "lazily_1.py", tmp_path / "library")
    environment = {"PYTHONPATH": f"{tmp_path}/library{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    program = "import lazily_1, sys; print(lazily_1.VALUE)"
    (tmp_path / "library" / "program.py").write_text(program)
    command = children.command("program")
    assert run(*command, **{**children.environment(), **environment}).stdout == "17\n"


@pytest.mark.parametrize("path", [":/library", "/library:", "/library::/other", ":", ""])
def test_an_empty_entry_of_pythonpath_is_not_the_current_folder(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setenv("PYTHONPATH", path)
    left = children.environment().get("PYTHONPATH")
    assert left == (":".join(entry for entry in path.split(":") if entry) or None)


def test_without_the_option_of_newer_pythons_nothing_is_imported_from_there_either(clean: Path) -> None:
    """As with Python 3.10."""
    (clean / "show.py").touch()
    command = [sys.executable, boot.__file__, "json.tool", "--help"]
    assert "usage" in run(*command).stdout
    done = subprocess.run([sys.executable, boot.__file__, "show"], capture_output=True, text=True, check=False)
    assert "No module named show" in done.stderr


def test_a_package_that_is_not_installed_is_found_beside_the_process_that_starts_it(tmp_path: Path) -> None:
    """As after ``pip install --target`` into the folder in which a training starts."""
    package = Path(boot.__file__).parent
    shutil.copytree(package, tmp_path / "loader_service", ignore=shutil.ignore_patterns("__pycache__"))
    program = "import sys, loader_service; print(loader_service.__file__); print(sys.path[-1])"
    (tmp_path / "loader_service" / "where.py").write_text(program)
    command = [sys.executable, "-S", tmp_path / "loader_service" / "boot.py", "loader_service.where"]
    assert run(*command).stdout == f"{tmp_path}/loader_service/__init__.py\n{tmp_path}\n"
