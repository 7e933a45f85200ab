"""Options are declared once: type checkers and editors know the names and types that specs and services have."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import loader_client
from loader_client.stream_options import StreamChoice
from loader_client.typed_options import ServiceOptions, StreamOptions
from loader_service.config import ServiceConfig
from loader_service.option_fields import all_fields
from loader_service.protocol.spec import Spec
from loader_service.protocol.windows import Window
from loader_service.scan_options import ScanOptions

#: Fields of a spec that are parameters of the calls, or follow from them.
_PARAMETERS = {"batch_size", "clip", "image", "fields", "indexed", "resumed"}

#: Options of a service that are not for a private one: where it listens, how it is kept alive, what it serves.
_NOT_PRIVATE = {"files", "endpoint", "supervise"}

_Path = str | os.PathLike[str]

#: What people may write for an option, beside what its configuration holds.
_WRITTEN: dict[str, Any] = {
    "workers": int | str | tuple[int, int],
    "ray_workers": int | str | tuple[int, int],
    "memory": int | str,
    "worker_memory": int | str,
    "labels": _Path,
    "classes": _Path | Sequence[_Path],
    "schema": _Path,
    "cache_dir": _Path,
    "log_file": _Path,
    "source": str | Callable[..., Any],
    "transform": str | Callable[..., Any],
    "source_arg": str | Sequence[str],
}

_PROJECT = Path(__file__).parents[2]

_CALLS = """
import loader_client
from loader_client.keras import LoaderSequence

loader_client.dataset("x.h5", batch_size=2, {option}=True)
loader_client.connect("x.h5").batches(2, {option}=True)
LoaderSequence("x.h5", batch_size=2, {option}=True)
loader_client.connect("x.h5", service={{"{service}": "labels.csv"}})
loader_client.dataset("x.h5", batch_size=2, service={{"{service}": "labels.csv"}})
"""


def test_options_of_a_stream_are_the_fields_of_a_spec_with_their_types() -> None:
    declared, offered = get_type_hints(Spec), get_type_hints(StreamOptions)
    names = {each.name for each in fields(Spec)} - _PARAMETERS
    assert names == offered.keys() - {"index_keys", "key_field"}
    alike = names - {"shard", "videos", "windows"}
    assert {name: offered[name] for name in alike} == {name: declared[name] for name in alike}
    assert offered["shard"] == declared["shard"] | str | None  # the client makes a pair of these
    assert offered["windows"] == Iterable[Window]  # the spec makes a tuple of them
    assert offered["videos"] == Iterable[str | bytes] | None  # the spec makes a tuple of texts


def test_options_of_a_private_service_are_those_of_start_with_their_types() -> None:
    declared = {**get_type_hints(ServiceConfig), **get_type_hints(ScanOptions)}
    offered = get_type_hints(ServiceOptions)
    shown = {each.name for each in all_fields(ServiceConfig) if not each.metadata.get("hidden")} - _NOT_PRIVATE
    assert shown == offered.keys() - {"start_timeout_s"}
    for name in shown:
        assert offered[name] == _WRITTEN.get(name, declared[name]) | None, name


def test_a_type_checker_finds_a_misspelt_option_and_takes_a_right_one(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "wrong.py").write_text(_CALLS.format(option="shufle", service="lables"))
    (tmp_path / "right.py").write_text(_CALLS.format(option="shuffle", service="labels"))
    words = ["-m", "mypy", "--config-file", str(_PROJECT / "pyproject.toml"), "--cache-dir", str(tmp_path / "cache")]
    checked = subprocess.run(
        [sys.executable, *words, "--no-incremental", str(tmp_path / "wrong.py"), str(tmp_path / "right.py")],
        cwd=_PROJECT,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    found = [line for line in checked.stdout.splitlines() if ": error: " in line]
    places = [line.partition(": error: ")[0].rpartition("/")[2] for line in found]
    assert places == [f"wrong.py:{number}" for number in range(5, 10)], checked.stdout + checked.stderr
    assert all('did you mean "shuffle"?' in line for line in found[:3])
    assert all("ServiceOptions" in line for line in found[3:])


def test_a_misspelt_option_suggests_the_right_one_at_run_time() -> None:
    with pytest.raises(TypeError, match="'shufle' of dataset and batches; did you mean 'shuffle'"):
        StreamChoice(2, "auto", None, shufle=True)
    with pytest.raises(TypeError, match=r"'num_workers' of .*; did you mean 'workers'"):
        StreamChoice(2, "auto", None, num_workers=4)
    with pytest.raises(loader_client.ConfigError, match=r"'lables'.* did you mean 'labels'"):
        loader_client.connect("x.h5", service={"lables": "x.csv"})  # type: ignore[typeddict-unknown-key]


def test_the_number_of_epochs_is_not_the_datasets() -> None:
    with pytest.raises(TypeError, match=r"'epochs' of dataset; each iterator of it is an epoch: give fit epochs=…"):
        StreamChoice(2, "auto", None, epochs=4)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("frames", r"give clip=Clip\(frames=…\)"),
        ("size", r"give image=Image\(size=…\)"),
        ("workers", "give workers=… to connect or dataset; of one that runs, `loader-service start --workers`"),
        ("memory", "give service={'memory': …} to connect or dataset; .* `loader-service start --memory` sets it"),
        ("labels", "give service={'labels': …}"),
        ("endpoint", "is their first argument: give it without a name"),
    ],
)
def test_an_option_of_another_place_is_told_where_it_belongs(name: str, said: str) -> None:
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}' of dataset and batches; .*{said}"):
        StreamChoice(2, "auto", None, **{name: 4})  # type: ignore[arg-type]
