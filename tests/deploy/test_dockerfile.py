"""The Dockerfile, as far as it goes without a daemon: what it copies exists, and its result starts."""

from __future__ import annotations

import fnmatch
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_ROOT = Path(__file__).parents[2]
_DOCKERFILE = _ROOT / "deploy" / "docker" / "Dockerfile"

#: The instructions of a Dockerfile that are used here.
_KNOWN = {"ARG", "FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"}


def _instructions() -> list[tuple[str, str]]:
    """Return the instructions with what follows them, lines that go on being one."""
    lines = [each for each in _DOCKERFILE.read_text().splitlines() if not each.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [tuple(line.split(maxsplit=1)) for line in joined.splitlines() if line]  # type: ignore[misc]


def _copied() -> list[str]:
    """Return what is copied from the checkout."""
    sources = []
    for instruction, rest in _instructions():
        if instruction == "COPY" and "--from" not in rest:
            sources += rest.split()[:-1]
    return sources


def test_it_has_two_stages_and_ends_as_nobody_s_root() -> None:
    instructions = _instructions()
    assert {name for name, _ in instructions} <= _KNOWN
    stages = [rest for name, rest in instructions if name == "FROM"]
    assert len(stages) == 2
    assert stages[0].endswith(" AS build")
    last = len(instructions) - 1 - [name for name, _ in instructions][::-1].index("FROM")
    final = dict(instructions[last:])
    user, group = final["USER"].split(":")
    assert int(user) > 1000
    assert int(group) > 1000
    assert json.loads(final["ENTRYPOINT"]) == ["loader-service"]
    assert json.loads(final["HEALTHCHECK"].partition("CMD ")[2]) == ["loader-service", "status"]
    assert json.loads(final["CMD"])[0] == "start"


def test_what_it_copies_is_there_is_not_ignored_and_is_all_that_the_build_needs() -> None:
    ignored = (_DOCKERFILE.parent / "Dockerfile.dockerignore").read_text().splitlines()
    allowed = [line[1:] for line in ignored if line.startswith("!")]
    copied = _copied()
    for name in copied:
        assert (_ROOT / name).exists()
        assert any(fnmatch.fnmatch(name, each) for each in allowed), name
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())
    needed = {project["project"]["readme"], *project["project"]["license-files"], "pyproject.toml"}
    needed.add("hatch_build.py")  # where hatchling looks for the hook
    needed |= {each.split("/")[0] for each in project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]}
    assert set(copied) == needed


def test_its_extras_are_those_of_the_package() -> None:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())
    extras = [rest.partition("=")[2].split(",") for name, rest in _instructions() if name == "ARG" and "EXTRAS" in rest]
    assert extras
    known = project["project"]["optional-dependencies"]
    assert set(extras[0]) <= set(known)
    cluster = (_ROOT / "deploy" / "kubernetes" / "raycluster.yaml").read_text()
    (named,) = re.findall(r"--build-arg EXTRAS=(\S+)", cluster)
    assert set(named.split(",")) <= set(known)
    assert "default" in next(each for name in named.split(",") for each in known[name] if each.startswith("ray["))


@pytest.mark.hosts
@pytest.mark.parametrize("compiler", ["cc", "none"])
def test_the_package_that_it_builds_installs_and_its_entry_point_starts(tmp_path: Path, compiler: str) -> None:
    """Build a wheel of what is copied and nothing else, as the first stage does, and ask it for its version."""
    source = tmp_path / "src"
    source.mkdir()
    for name in _copied():
        subprocess.run(["cp", "-r", _ROOT / name, source / name], check=True)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", tmp_path, source], check=True, timeout=280,
                   env={**os.environ, "CC": compiler})  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    place = tmp_path / "installed"
    subprocess.run([*pip, "install", "--no-deps", "--target", place, wheel], check=True, timeout=280)
    said = subprocess.run(
        [place / "bin" / "loader-service", "--version"],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{place}:{':'.join(sys.path[1:])}", "HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.split()[-1] == "0.1.0"
    native = place / "loader_service" / "native" / "libloader_native.so"
    assert native.exists() == (compiler == "cc") == (not wheel.name.endswith("-any.whl"))
    for each in ("loader_service/web/static/app.js", "loader_service/py.typed", "loader_client/py.typed"):
        assert (place / each).exists(), each
