"""Which of how many workers a process is, as `TF_CONFIG` says it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loader_client import ConfigError, cluster
from loader_client.cluster import Membership, from_environment
from loader_client.shares import own_share, share
from loader_client.stream_options import StreamChoice


def _config(cluster: dict[str, int], role: str, index: Any) -> dict[str, str]:
    addresses = {name: [f"host{n}:1" for n in range(count)] for name, count in cluster.items()}
    return {"TF_CONFIG": json.dumps({"cluster": addresses, "task": {"type": role, "index": index}})}


@pytest.mark.parametrize(
    ("sizes", "role", "index", "number"),
    [
        ({"worker": 3}, "worker", 2, (2, 3)),
        ({"worker": 3}, "worker", "1", (1, 3)),
        ({"chief": 1, "worker": 2}, "chief", 0, (0, 3)),
        ({"chief": 1, "worker": 2}, "worker", 1, (2, 3)),
        ({"chief": 1, "worker": 2, "evaluator": 1}, "worker", 0, (1, 3)),
        ({"chief": 1, "worker": 2, "evaluator": 1}, "evaluator", 0, (0, 1)),
        ({"chief": 1, "worker": 2}, "evaluator", 0, (0, 1)),
    ],
)
def test_chief_and_workers_are_numbered_as_tensorflow_numbers_them(
    sizes: dict[str, int], role: str, index: Any, number: tuple[int, int]
) -> None:
    assert from_environment(_config(sizes, role, index)) == Membership(*number, "TF_CONFIG")


@pytest.mark.parametrize(
    "environment",
    [{}, {"TF_CONFIG": " "}, {"TF_CONFIG": "{}"}, _config({"chief": 1, "worker": 2, "ps": 1}, "chief", 0)],
)
def test_where_no_cluster_trains_together_nobody_has_a_number(environment: dict[str, str]) -> None:
    assert from_environment(environment) is None


@pytest.mark.parametrize(
    "environment",
    [
        {"TF_CONFIG": "worker 1"},
        {"TF_CONFIG": "[1]"},
        {"TF_CONFIG": '{"cluster": {"worker": ["a:1"]}}'},
        {"TF_CONFIG": '{"cluster": {"worker": "a:1"}, "task": {"type": "worker", "index": 0}}'},
        {"TF_CONFIG": '{"cluster": {"worker": 3}, "task": {"type": "worker", "index": 0}}'},
        _config({"worker": 2}, "worker", 2),
        _config({"worker": 2}, "chief", 0),
        _config({"worker": 2, "Worker": 2}, "Worker", 1),
        _config({"worker": 2}, "trainer", 0),
    ],
)
def test_a_configuration_that_does_not_say_which_worker_this_is_is_an_error(environment: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"TF_CONFIG.*give shard=\(rank, world\)"):
        from_environment(environment)


def test_auto_is_the_share_of_the_worker_and_what_is_given_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CONFIG", _config({"worker": 2}, "worker", 1)["TF_CONFIG"])
    assert share("auto") == (1, 2)
    assert share((0, 4)) == (0, 4)
    assert share(None) is None
    with pytest.raises(ConfigError, match="shard='all' is none"):
        share("all")


def test_every_client_knows_auto(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CONFIG", _config({"worker": 2}, "worker", 1)["TF_CONFIG"])
    assert StreamChoice(2, None, None, shard="auto").spec.shard == (1, 2)
    assert StreamChoice(2, None, None, shard=None).spec.shard == (0, 1)


class _Resolver:
    """What a strategy has that knows its cluster."""

    task_type = "worker"
    task_id = 1

    def cluster_spec(self) -> Any:
        return self

    def as_dict(self) -> Any:
        return {"chief": ["a:1"], "worker": ["b:1", "c:1"]}


def test_a_strategy_knows_its_cluster_better_than_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CONFIG", "no JSON")
    assert own_share("auto", _Resolver()) == (2, 3)
    assert own_share((0, 1), None) == (0, 1)
    assert own_share(None, None) is None  # a loop that is alone does not care for it
    with pytest.raises(ConfigError, match="does not say which worker"):
        own_share("auto", None)


def test_one_warning_names_the_worker(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(cluster, "_warned", set())
    for found in (None, Membership(0, 1, "TF_CONFIG"), Membership(1, 2, "TF_CONFIG"), Membership(1, 2, "TF_CONFIG")):
        cluster.warn_of_whole_batches(found)
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("TF_CONFIG says that this is worker 1 of 2: ")
