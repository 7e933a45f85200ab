"""Which of how many processes a process is, as the launchers say it."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from loader_client import ConfigError
from loader_client.ranks import NAMES, find

_TF_CONFIG = {
    "TF_CONFIG": json.dumps({"cluster": {"worker": ["a:1", "b:1", "c:1"]}, "task": {"type": "worker", "index": 2}})
}
_TORCHRUN = {"RANK": "2", "WORLD_SIZE": "3", "LOCAL_RANK": "0"}
_SLURM = {"SLURM_JOB_ID": "9", "SLURM_STEP_ID": "0", "SLURM_PROCID": "2", "SLURM_NTASKS": "3"}
_OPENMPI = {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "3"}
_PMI = {"PMI_RANK": "2", "PMI_SIZE": "3"}


def _ray(rank: Any, world: Any) -> dict[str, Any]:
    context = SimpleNamespace(get_world_rank=lambda: rank, get_world_size=lambda: world)
    return {"ray.train": SimpleNamespace(get_context=lambda: context)}


def _auto(environment: dict[str, str], said: str = "auto", modules: dict[str, Any] | None = None) -> tuple[int, int]:
    found = find(said, environment, modules or {})
    return found.rank, found.world


@pytest.mark.parametrize("environment", [_TF_CONFIG, _TORCHRUN, _SLURM, _OPENMPI, _PMI])
def test_each_launcher_is_understood(environment: dict[str, str]) -> None:
    assert _auto(environment) == (2, 3)


def test_ray_train_is_asked_when_somebody_has_imported_it() -> None:
    assert _auto({}, modules=_ray(2, 3)) == (2, 3)


def test_launchers_that_agree_are_as_good_as_one() -> None:
    everything = {**_TF_CONFIG, **_TORCHRUN, **_SLURM, **_OPENMPI, **_PMI}
    assert _auto(everything, modules=_ray(2, 3)) == (2, 3)
    for name in NAMES:
        assert _auto(everything, f"auto:{name}", _ray(2, 3)) == (2, 3)


def test_launchers_that_disagree_are_an_error_that_names_them_all() -> None:
    environment = {**_SLURM, "RANK": "9", "WORLD_SIZE": "24"}
    with pytest.raises(ConfigError) as raised:
        _auto(environment)
    message = str(raised.value)
    for said in ("RANK=9 of WORLD_SIZE=24 says 9 of 24", "SLURM_PROCID=2 of SLURM_NTASKS=3 says 2 of 3"):
        assert said in message
    assert message.endswith("give shard='auto:torchrun' or 'auto:slurm', or give shard=(rank, world)")
    assert _auto(environment, "auto:torchrun") == (9, 24)
    assert _auto(environment, "auto:slurm") == (2, 3)


def test_a_world_of_one_disagrees_like_any_other() -> None:
    with pytest.raises(ConfigError, match="finds different ranks"):
        _auto({**_TORCHRUN, "SLURM_PROCID": "0", "SLURM_NTASKS": "1"})


@pytest.mark.parametrize(
    "modules",
    [
        {},
        {"ray.train": None},
        {"ray.train": SimpleNamespace()},
        _ray(None, None),
    ],
)
def test_nobody_who_says_it_is_an_error_with_a_remedy(modules: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"neither .*TF_CONFIG.*SLURM.*Ray Train.*give shard=\(rank, world\)$"):
        _auto({}, modules=modules)


def test_ray_outside_of_a_training_says_nothing() -> None:
    def get_context() -> None:
        raise RuntimeError("called outside of a training")

    with pytest.raises(ConfigError, match="says nothing; give shard"):
        _auto(_TORCHRUN, "auto:ray", {"ray.train": SimpleNamespace(get_context=get_context)})


@pytest.mark.parametrize("step", ["", "4294967290", "4294967291", "interactive", "batch"])
def test_a_batch_script_or_a_shell_of_slurm_is_no_task_whatever_it_asks_for(step: str) -> None:
    with pytest.raises(ConfigError, match="start the training by srun"):
        _auto({"SLURM_JOB_ID": "9", "SLURM_STEP_ID": step, "SLURM_PROCID": "0", "SLURM_NTASKS": "4"})


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"SLURM_STEP_NUM_TASKS": "2"}, "SLURM_NTASKS=3 and SLURM_STEP_NUM_TASKS=2; give shard"),
        ({"SLURM_HET_SIZE": "2"}, "SLURM_HET_SIZE=2 parts of a heterogeneous job count their tasks; give shard"),
    ],
)
def test_tasks_of_slurm_that_are_counted_in_two_ways_are_not_chosen_from(more: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        _auto({**_SLURM, **more})
    assert _auto({**_SLURM, "SLURM_STEP_NUM_TASKS": "3", "SLURM_HET_SIZE": "1"}) == (2, 3)


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"RANK": "1"}, "RANK is set and WORLD_SIZE is not"),
        ({"SLURM_NTASKS": "4"}, "SLURM_NTASKS is set and SLURM_PROCID is not"),
        ({"RANK": "3", "WORLD_SIZE": "3"}, "no rank of a world"),
        ({"RANK": "-1", "WORLD_SIZE": "3"}, "no rank of a world"),
        ({"RANK": "0", "WORLD_SIZE": "0"}, "no rank of a world"),
        ({"RANK": "one", "WORLD_SIZE": "3"}, "no rank of a world"),
        ({"RANK": "²", "WORLD_SIZE": "3"}, "no rank of a world"),
        ({"PMI_RANK": "0", "PMI_SIZE": "9" * 5000}, "no rank of a world"),
    ],
)
def test_half_and_wrong_numbers_are_errors_by_name(environment: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        _auto(environment)


@pytest.mark.parametrize("said", ["", "all", "auto:", "auto:mpi", "Auto", "auto :ray"])
def test_another_text_is_no_shard(said: str) -> None:
    with pytest.raises(ConfigError, match="is none; give 'auto'"):
        _auto(_TORCHRUN, said)
