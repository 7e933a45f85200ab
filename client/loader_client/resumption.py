"""Where a stream begins, by what its user gave as ``start``: a place, a state of this rank, or those of all. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loader_client.rank_state import RankState
from loader_client.starts import check_start
from loader_service.errors import ConfigError
from loader_service.protocol.consumed import Consumed, ResumedEpoch

#: What ``start=`` may be.
StartChoice = tuple[int, int] | RankState | Sequence[RankState]


@dataclass(frozen=True)
class Resumption:
    """Where a stream begins.

    Parameters
    ----------
    place
        Epoch and step; the step is None where it is the first one of what is left of the epoch.
    resumed
        The epoch of which only the rest is left.
    order
        What must be the same as when the states were saved; None where there are none.
    """

    place: tuple[int, int | None]
    resumed: ResumedEpoch | None = None
    order: tuple[tuple[str, Any], ...] | None = None

    def check_order(self, order: tuple[tuple[str, Any], ...]) -> None:
        """Raise ConfigError when the stream's order is another than that of the states; says what differs."""
        if self.order is None or self.order == order:
            return
        saved, now = dict(self.order), dict(order)
        for name in (*now, *saved):
            if saved.get(name) != now.get(name):
                raise ConfigError(
                    f"the state was saved with {name}={saved.get(name)!r}, and this stream has {now.get(name)!r}: the "
                    "samples would come in another order, some twice; give the same, or begin the next epoch by "
                    "start=(epoch, 0)"
                )


def resumption(start: Any, shard: tuple[int, int], batch_size: int) -> Resumption:
    """Return where a stream begins.

    Parameters
    ----------
    start
        ``(epoch, step)``; a state of this rank; or the states of all ranks of a world, in any order.
    shard, batch_size
        Of the stream.

    Raises
    ------
    ConfigError
        When it is none of them, when a state is another rank's, and when states do not belong together, or are of
        different epochs.
    """
    check_choice(start)
    if isinstance(start, RankState):
        return _of_this_rank(start, shard, batch_size)
    if isinstance(start[0], RankState):
        return _of_all_ranks(_checked(start), shard, batch_size)
    return Resumption(check_start(start))


def check_choice(start: Any) -> None:
    """Raise ConfigError when a start is none at all, before it is known whose it is."""
    if isinstance(start, RankState):
        return
    if isinstance(start, (tuple, list)) and any(isinstance(each, RankState) for each in start):
        odd = next((each for each in start if not isinstance(each, RankState)), None)
        if odd is not None:
            raise ConfigError(f"start has {odd!r:.80} among states; give those of all ranks, and nothing else")
        return
    check_start(start)


def _of_this_rank(state: RankState, shard: tuple[int, int], batch_size: int) -> Resumption:
    if (state.shard, state.batch_size) != (shard, batch_size):
        raise ConfigError(
            f"the state is of rank {state.shard[0]} of {state.shard[1]} with batch_size={state.batch_size}, and this "
            f"is rank {shard[0]} of {shard[1]} with {batch_size}; give the states of all ranks as a list, or "
            "start=state.of_all_ranks() where each had taken as many steps"
        )
    return Resumption((state.epoch, state.step), state.resumed, state.order)


def _of_all_ranks(states: list[RankState], shard: tuple[int, int], batch_size: int) -> Resumption:
    first = states[0]
    epoch, steps = _taken(states)
    in_rest = first.resumed is not None and first.resumed.epoch == epoch
    if not any(steps) and not in_rest:
        return Resumption((epoch, 0), None, first.order)
    if len(set(steps)) == 1 and (first.shard[1], first.batch_size) == (shard[1], batch_size):
        own = next(each for each in states if each.shard == shard)
        return Resumption((epoch, steps[0] + (own.first_step if in_rest else 0)), first.resumed, first.order)
    before = first.resumed.consumed if in_rest and first.resumed is not None else ()
    consumed = Consumed(first.shard[1], first.batch_size, tuple(steps[:1] if len(set(steps)) == 1 else steps))
    return Resumption((epoch, None), ResumedEpoch(epoch, (*before, consumed)), first.order)


def _taken(states: list[RankState]) -> tuple[int, list[int]]:
    """Return the epoch that the ranks are in, and how many steps of what they had of it each has taken, by rank."""
    ended = [(each.epoch + 1, 0) if each.step == each.steps_per_epoch else (each.epoch, each.step) for each in states]
    epoch = min(ended)[0]
    steps = []
    for state, (own_epoch, step) in zip(states, ended, strict=True):
        begin = state.first_step if state.resumed is not None and state.resumed.epoch == epoch else 0
        if own_epoch == epoch:
            steps.append(max(0, step - begin))
        elif (own_epoch, step) == (epoch + 1, 0):  # it has had all of its part
            steps.append(state.steps_per_epoch - begin)
        else:
            raise ConfigError(
                f"rank {state.shard[0]} is at step {step} of epoch {own_epoch}, and another rank is in epoch {epoch}: "
                "only one epoch can be shared anew; give states that the ranks saved in the same epoch, such as after "
                "the same step of the training"
            )
    return epoch, steps


def _checked(given: Sequence[RankState]) -> list[RankState]:
    """Return states that belong together, by rank."""
    first = given[0]
    world = first.shard[1]
    alike = ("batch_size", "order", "resumed")
    for each in given:
        different = [name for name in alike if getattr(each, name) != getattr(first, name)]
        if each.shard[1] != world or different:
            what = different[0] if each.shard[1] == world else "world"
            raise ConfigError(
                f"the states of ranks {first.shard!r} and {each.shard!r} differ in {what}; give the states that the "
                "ranks of one training saved together"
            )
    ranks = sorted(each.shard[0] for each in given)
    if ranks != list(range(world)):
        odd = next((n for n in range(world) if ranks.count(n) != 1), ranks[-1])
        raise ConfigError(
            f"start has {ranks.count(odd)} states of rank {odd} of {world}, and {len(ranks)} in all; give one of each "
            "rank, or one rank's state.of_all_ranks() where each had taken as many steps"
        )
    return sorted(given, key=lambda each: each.shard[0])
