"""A private service takes classes and functions themselves; where it cannot, what the error advises works."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loader_client
from loader_client import ConfigError
from loader_client.code_references import reference_of
from tests.daemon import own_sources

#: A program with a class of its own, which ends with its first batch.
_PROGRAM = """
import sys
{imports}
import loader_client

with loader_client.connect(service={{"source": {name}}}, workers=1) as connection:
    print(next(connection.batches(2, shuffle=False))["x"].tolist())
"""

_CLASS = """
class Mine:
    def __len__(self):
        return 4
    def __getitem__(self, number):
        return {"x": number}
"""

_PROJECT = Path(__file__).parents[2]


def _run(folder: Path, *words: str, stdin: str = "", **environment: str) -> tuple[str, str]:
    """Run Python in a folder; return what it says, and the last line of its errors."""
    path = os.pathsep.join([*filter(None, [environment.get("PYTHONPATH", "")]), str(_PROJECT), f"{_PROJECT}/client"])
    ended = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        input=stdin,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return ended.stdout.strip(), (ended.stderr.strip().splitlines() or [""])[-1]


def test_a_class_and_a_function_of_a_module_are_given_as_they_are() -> None:
    given: Any = {"source": own_sources.Items, "source_arg": "count=8", "transform": own_sources.doubled}
    with loader_client.connect(service=given, workers=1) as connection:
        batch = next(connection.batches(2, shuffle=False))
    assert batch["grid"].shape == (2, 4, 3)


def test_a_method_of_a_class_is_named_with_its_class() -> None:
    assert reference_of("source", own_sources.Scenes.generate_data) == "tests.daemon.own_sources:Scenes.generate_data"


def _nested() -> Callable[..., Any]:
    def inside() -> None: ...

    return inside


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (lambda sample, _: sample, r"transform is a lambda.*`def`, at the top level of a module.*my_transform.py"),
        (_nested(), r"'inside' is defined inside '_nested'.*move it to the top level of a module"),
        (own_sources.Items().__len__, r"'Items.__len__' is a method of one object.*write it as a function"),
        (functools.partial(np.add, 1), r"functools.partial.*has no name.*write it as a function.*my_transform.py"),
        (own_sources.Items(), r"Items object.* has no name.*write it as a function, with `def`"),
        (3, r"transform=3 has no name by which a service can import it"),
    ],
)
def test_code_without_a_name_in_a_module_is_refused_before_a_service_starts(value: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        loader_client.connect("x.h5", service={"transform": value})


@pytest.mark.parametrize("value", [own_sources.Items(), functools.partial(own_sources.Items, count=8)])
def test_an_object_given_as_source_is_told_to_give_its_class_which_works(value: Any) -> None:
    advice = r"^source=.* has no name.*give its class, .* itself, and its arguments as source_arg='name=value'"
    with pytest.raises(ConfigError, match=advice):
        loader_client.connect(service={"source": value})
    given: Any = {"source": own_sources.Items, "source_arg": "count=8"}
    with loader_client.connect(service=given, workers=1) as connection:
        assert len(next(connection.batches(8, shuffle=False))["grid"]) == 8


def test_a_wrapped_function_that_took_the_place_of_another_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    original = own_sources.doubled
    monkeypatch.setattr(own_sources, "doubled", functools.wraps(original)(functools.partial(original)))
    with pytest.raises(ConfigError, match=r"own_sources:doubled is not the function that was given"):
        reference_of("transform", original)


@pytest.mark.parametrize("at_prompt", [False, True])
def test_code_of_the_program_itself_is_refused_and_the_advised_file_works(tmp_path: Path, at_prompt: bool) -> None:
    program = _PROGRAM.format(imports=_CLASS, name="Mine")
    (tmp_path / "train.py").write_text(program)
    said, error = _run(tmp_path, "-" if at_prompt else "train.py", stdin=program if at_prompt else "")
    assert said == ""
    assert ("notebook or at the prompt" if at_prompt else "the program that runs") in error
    advised = re.search(r"file (\S+) in '([^']+)', then `([^`]+)` and source=(\w+)", error)
    assert advised is not None, error
    name, folder, imports, value = advised.groups()
    Path(folder, name).write_text(_CLASS)
    (tmp_path / "train.py").write_text(_PROGRAM.format(imports=imports, name=value))
    assert _run(tmp_path, "train.py") == ("[0, 1]", "")


def test_a_module_beside_a_program_that_runs_elsewhere_is_found_as_the_error_advises(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    (home / "my_source.py").write_text(_CLASS)
    (home / "train.py").write_text(_PROGRAM.format(imports="import my_source", name="my_source.Mine"))
    said, error = _run(elsewhere, str(home / "train.py"))
    assert said == ""
    advised = re.search(r"run this program in that folder, or with PYTHONPATH=(\S+)$", error)
    assert advised is not None, error
    assert _run(elsewhere, str(home / "train.py"), PYTHONPATH=advised[1]) == ("[0, 1]", "")
    assert _run(home, "train.py") == ("[0, 1]", "")
