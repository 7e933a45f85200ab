"""Finds which of how many processes this one is, as launchers say it: ``shard="auto"``. Pure; loads no framework.

Each launcher has words of its own for the same two numbers. They are asked for all at once: where one launcher starts
another, such as `srun` that starts `torchrun`, the environment has the numbers of both, and they may count different
things. So numbers that differ are an error, and the caller names the one that is meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from loader_client import cluster
from loader_client.cluster import Membership
from loader_service.errors import ConfigError

#: The texts that `shard` may be: ``"auto"``, and ``"auto:NAME"`` for one launcher alone.
AUTO = "auto"

_REMEDY = "give shard=(rank, world)"

#: Where Ray Train keeps what it says; looked at only when somebody else has imported it.
_RAY_TRAIN = "ray.train"


@dataclass(frozen=True)
class _Variables:
    """The two variables of a launcher."""

    rank: str
    world: str

    def find(self, environment: Mapping[str, str]) -> Membership | None:
        """Return what they say; None when neither is set.

        Raises
        ------
        ConfigError
            When only one is set, or they are no rank of a world.
        """
        rank, world = (environment.get(name, "").strip() for name in (self.rank, self.world))
        if not rank and not world:
            return None
        if not rank or not world:
            there, missing = (self.rank, self.world) if rank else (self.world, self.rank)
            raise ConfigError(f"shard='auto': {there} is set and {missing} is not; set both, unset both, or {_REMEDY}")
        said_by = f"{self.rank}={rank[:20]} of {self.world}={world[:20]}"
        if not (_is_number(rank) and _is_number(world) and int(rank) < int(world)):
            raise ConfigError(f"shard='auto': {said_by} is no rank of a world; mend or unset both, or {_REMEDY}")
        return Membership(int(rank), int(world), said_by)


def _slurm(environment: Mapping[str, str]) -> Membership | None:
    """Return what SLURM says of a task; None in a batch script and in a shell, which run once whatever they ask for.

    Raises
    ------
    ConfigError
        As for other launchers; also when the job and its step, or parts of a heterogeneous job, count other tasks.
    """
    if _runs_once(environment):
        return None
    found = _Variables("SLURM_PROCID", "SLURM_NTASKS").find(environment)
    tasks, parts = (environment.get(name, "").strip() for name in ("SLURM_STEP_NUM_TASKS", "SLURM_HET_SIZE"))
    if found is not None and tasks and tasks != str(found.world):
        raise ConfigError(f"shard='auto': SLURM_NTASKS={found.world} and SLURM_STEP_NUM_TASKS={tasks[:20]}; {_REMEDY}")
    if found is not None and parts not in ("", "1"):
        raise ConfigError(
            f"shard='auto': SLURM_HET_SIZE={parts[:20]} parts of a heterogeneous job count their tasks; {_REMEDY}"
        )
    return found


def _runs_once(environment: Mapping[str, str]) -> bool:
    """Return whether this is the script of a SLURM job, or its shell: SLURM numbers their steps from the top."""
    step = environment.get("SLURM_STEP_ID", "").strip()
    return bool(environment.get("SLURM_JOB_ID")) and (not step or _NO_TASKS_STEP.fullmatch(step) is not None)


#: The launchers that are asked, by the names that ``"auto:NAME"`` takes.
_LAUNCHERS: dict[str, Callable[[Mapping[str, str]], Membership | None]] = {
    "tensorflow": cluster.from_environment,
    "torchrun": _Variables("RANK", "WORLD_SIZE").find,
    "slurm": _slurm,
    "openmpi": _Variables("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE").find,
    "pmi": _Variables("PMI_RANK", "PMI_SIZE").find,
}

#: What SLURM has in place of a step's number where there is no step of tasks, as in scripts and interactive shells: the
#: highest numbers of 32 bits, or words.
_NO_TASKS_STEP = re.compile("42949672(8|9)[0-9]|batch|extern|interactive")

#: Of Ray Train, which says it by a function and not by variables.
_RAY = "ray"

#: All of them, for people.
NAMES = (*_LAUNCHERS, _RAY)


def find(said: str, environment: Mapping[str, str], modules: Mapping[str, Any]) -> Membership:
    """Return which of how many processes this one is.

    Parameters
    ----------
    said
        ``"auto"``: whatever launcher says it; ``"auto:NAME"``: the one of that name alone.
    environment
        The variables of this process.
    modules
        What it has imported, by name, as `sys.modules` has it: Ray Train is asked if it is there.

    Raises
    ------
    ConfigError
        When nobody says it, when two say different things, or when one says what cannot be.
    """
    prefix, _, name = said.partition(":")
    if prefix != AUTO or (name not in NAMES if ":" in said else False):
        known = ", ".join(repr(f"{AUTO}:{each}") for each in NAMES)
        raise ConfigError(f"shard={said!r} is none; give 'auto', (rank, world), or one launcher's: {known}")
    found = _ask([name] if name else NAMES, environment, modules)
    if not found:
        raise ConfigError(_nobody(name, environment))
    numbers = {(each.rank, each.world) for each in found.values()}
    if len(numbers) > 1:
        said_by = "; ".join(f"{each.said_by} says {each.rank} of {each.world}" for each in found.values())
        choice = " or ".join(repr(f"{AUTO}:{each}") for each in found)
        raise ConfigError(f"shard='auto' finds different ranks: {said_by}; give shard={choice}, or {_REMEDY}")
    return next(iter(found.values()))


def _ask(
    names: list[str] | tuple[str, ...], environment: Mapping[str, str], modules: Mapping[str, Any]
) -> dict[str, Membership]:
    answers = {name: _from_ray(modules) if name == _RAY else _LAUNCHERS[name](environment) for name in names}
    return {name: answer for name, answer in answers.items() if answer is not None}


def _from_ray(modules: Mapping[str, Any]) -> Membership | None:
    """Return what Ray Train says of the worker that this is; None elsewhere."""
    train = modules.get(_RAY_TRAIN)
    if train is None:
        return None
    try:
        context = train.get_context()
        rank, world = context.get_world_rank(), context.get_world_size()
    except (RuntimeError, AttributeError):  # how its versions say that this process is no worker of a training
        return None
    if rank is None or world is None:
        return None
    return Membership(int(rank), int(world), "Ray Train")


def _nobody(name: str, environment: Mapping[str, str]) -> str:
    asked = (
        f"shard='{AUTO}:{name}' and {name} says nothing"
        if name
        else "shard='auto' and neither a strategy, TF_CONFIG, RANK and WORLD_SIZE, SLURM, Open MPI, PMI nor Ray Train "
        "says which process this is"
    )
    hint = " in a script or shell of a SLURM job: start the training by srun, or" if _runs_once(environment) else ";"
    return f"{asked}{hint} {_REMEDY}"


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10
