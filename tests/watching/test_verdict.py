"""What a trainer waits for follows from two looks: each bottleneck by its own signs, and with a remedy."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from loader_service.protocol.messages import Counter, Status
from loader_service.protocol.totals import FileSystemTotals, StreamTotals
from loader_service.watching.verdict import StreamVerdict, verdicts
from tests.watching.looks import look, stream, worker


def verdict_of(make: Callable[[float], Status], seconds: float = 10.0) -> StreamVerdict:
    """Return the verdict between two looks at a service that always does the same."""
    (verdict,) = verdicts(make(100.0), make(100.0 + seconds))
    return verdict


def busy(up_s: float, *, count: int = 4, waiting: float = 0.5, **of_workers: Any) -> Status:
    """Return a look at a service whose workers always have something to do."""
    return look(
        up_s,
        [worker(n + 1, up_s, working=0.98, **of_workers) for n in range(count)],
        [stream(1, up_s, waiting=waiting)],
    )


def test_what_workers_did_before_a_stream_opened_says_nothing_of_its_trainer() -> None:
    """They were idle for 100 s, and are at work since the stream is open: it is not wanted too late."""

    def opened(seconds: float) -> Status:
        at_work = [worker(n, 100.0 + seconds, working=seconds / (100.0 + seconds)) for n in (1, 2, 3, 4)]
        return look(100.0 + seconds, at_work, [stream(1, seconds)])

    (first,) = verdicts(None, opened(5.0))
    assert (first.kind, first.advice) == ("unknown", "")
    (before_that,) = verdicts(look(90.0, [], []), opened(5.0))
    assert before_that.kind == "unknown"
    (later,) = verdicts(opened(5.0), opened(9.0))
    assert later.kind == "decoding"


def test_streams_that_follow_one_another_have_a_verdict_each() -> None:
    """A stream for each epoch, of which the latest has been open for a second: the workers were never without."""

    def epoch(up_s: float, number: int, open_s: float) -> Status:
        made = look(up_s, [worker(n, up_s, working=0.98) for n in (1, 2, 3, 4)], [stream(number, open_s)])
        return replace(made, stream_totals=StreamTotals(open_seconds_total=up_s - 0.5))

    (verdict,) = verdicts(epoch(100.0, 7, 2.0), epoch(104.0, 9, 1.0))
    assert verdict.kind == "decoding"


CASES: dict[str, tuple[str, Callable[[float], Status], str]] = {
    "the data waits for the trainer": (
        "trainer",
        lambda t: look(t, [worker(n, t, working=0.7) for n in (1, 2)], [stream(1, t, waiting=0.01, full=0.9)]),
        "",
    ),
    "… and fewer workers would do": (
        "trainer",
        lambda t: look(t, [worker(n, t, working=0.2) for n in (1, 2, 3, 4)], [stream(1, t, waiting=0.01, full=0.9)]),
        "1 worker would do: `loader-service scale 1`",
    ),
    "decoding, and there are cores for more": (
        "decoding",
        lambda t: busy(t, waiting=0.5),
        "4 more workers would help: `loader-service scale 8`",
    ),
    "decoding a little too slowly": (
        "decoding",
        lambda t: busy(t, waiting=0.1),
        "1 more worker would help: `loader-service scale 5`",
    ),
    "decoding on all cores": (
        "decoding",
        lambda t: busy(t, count=8),
        "all 8 cores are at work; decode at half scale: Image(size=(128, 171)), instead of 224 x 224 pixels",
    ),
    "decoding, and the service may add workers itself": (
        "decoding",
        lambda t: replace(busy(t), workers_bounds="auto"),
        "the service tries more workers itself, up to 8; or decode at half scale: "
        "Image(size=(128, 171)), instead of 224 x 224 pixels",
    ),
    "decoding with as many workers as its bounds allow": (
        "decoding",
        lambda t: replace(busy(t, waiting=0.5), workers_bounds="2..4"),
        "4 more workers would help: `loader-service scale 2..8`; or decode at half scale: "
        "Image(size=(128, 171)), instead of 224 x 224 pixels",
    ),
    "a service that sizes itself and idles": (
        "trainer",
        lambda t: look(
            t,
            [worker(n, t, working=0.2) for n in (1, 2, 3)],
            [stream(1, t, waiting=0.01, full=0.9)],
            workers_bounds="2..16",
        ),
        "",
    ),
    "decoding frames that are stored much larger": (
        "decoding",
        lambda t: replace(busy(t, count=8), stored_frame=(480, 640)),
        "all 8 cores are at work; store smaller frames: `loader-service pack FILES -o OUT.h5 --short-side 224`",
    ),
    "decoding frames of many sizes": (
        "decoding",
        lambda t: replace(busy(t, count=8), stored_frame=()),
        "all 8 cores are at work; store smaller frames: `loader-service pack FILES -o OUT.h5 --short-side 224`",
    ),
    "decoding on all cores, with a cluster": (
        "decoding",
        lambda t: replace(busy(t, count=8), remote_wanted=2, remote_bounds="2"),
        "all 8 cores are at work; decode at half scale: Image(size=(128, 171)), instead of 224 x 224 pixels; "
        "or 8 more remote workers, if frames leave smaller than they are stored: "
        "`loader-service scale --ray 10`",
    ),
    "reading from a network file system": (
        "reading",
        lambda t: look(
            t,
            [worker(n, t, working=0.9, reading=0.8) for n in (1, 2)],
            [stream(1, t)],
            file_systems=(
                FileSystemTotals("nfs4 at /data", 1.4 * t, int(2.1e7 * t), int(30 * t)),
                FileSystemTotals("ext4 at /", 0.04 * t, int(1e6 * t), 0),
            ),
        ),
        "2 more workers would help: `loader-service scale 4`; or copy the files to a faster disk",
    ),
    "reading from a store": (
        "reading",
        lambda t: look(
            t,
            [worker(n, t, working=0.9, reading=0.8) for n in range(1, 33)],
            [stream(1, t)],
            file_systems=(FileSystemTotals("s3://bucket", 1.4 * t, int(2.1e7 * t), 0),),
        ),
        "keep what is fetched on a local disk: start it with --local-copy 200G:/scratch",
    ),
    "reading from the user's own source": (
        "reading",
        lambda t: look(
            t,
            [worker(n, t, reading=0.8) for n in (1, 2)],
            [stream(1, t)],
            serves="source 'm:S', 9 items",
            file_systems=(FileSystemTotals("source", 1.6 * t, 0, 0),),
        ),
        "2 more workers would help: `loader-service scale 4`",
    ),
    "the user's transform": (
        "transform",
        lambda t: look(
            t, [worker(n, t, transforming=0.7) for n in (1, 2)], [stream(1, t)], transform="augment:brighten"
        ),
        "2 more workers would help: `loader-service scale 4`",
    ),
    "the user's transform on all cores": (
        "transform",
        lambda t: look(t, [worker(n, t, transforming=0.7) for n in range(8)], [stream(1, t)], transform="augment:slow"),
        "make the transform faster: there is a worker for each core; if it waits, for a network say, "
        "8 more workers would help: `loader-service scale 16`",
    ),
    "wants have no slot": (
        "memory",
        lambda t: look(t, [worker(n, t, working=0.3, short=0.6) for n in (1, 2)], [stream(1, t, slots=2, short=0.6)]),
        "start it with --memory 441M (now 512.0 MiB), in a container also with `docker run --shm-size 882m`; or make "
        "batches smaller",
    ),
    "less is wanted ahead since there are few slots": (
        "memory",
        lambda t: look(t, [worker(n, t, working=0.4) for n in (1, 2)], [stream(1, t, slots=2)]),
        "start it with --memory 441M",
    ),
    "rows of remote workers arrive too slowly": (
        "receiver",
        lambda t: look(
            t,
            [worker(1, t, working=0.9), *(worker(n, t, sending=0.8, node="far") for n in (2, 3, 4))],
            [stream(1, t)],
            workers_wanted=1,
            counters=(Counter("receiver_cpu_ms", int(300 * t)),),
        ),
        "on this host, 1 more worker would help: `loader-service scale 2`; or ask for smaller frames: Image(size=…)",
    ),
    "… since the receiver takes a whole core, of which none is left": (
        "receiver",
        lambda t: look(
            t,
            [worker(1, t, working=0.3), *(worker(n, t, sending=0.8, node="far") for n in (2, 3, 4))],
            [stream(1, t)],
            workers_wanted=1,
            cores=1,
            counters=(Counter("receiver_cpu_ms", int(950 * t)),),
        ),
        "ask for smaller frames: Image(size=…), or on a closed network start it with --no-encrypt",
    ),
    "remote workers whose rows arrive in time": (
        "decoding",
        lambda t: look(
            t, [worker(1, t), *(worker(n, t, sending=0.2, node="far") for n in (2, 3))], [stream(1, t)], cores=1
        ),
        "the one core is at work",
    ),
    "rows arrive slowly, and what this host decodes holds more up": (
        "decoding",
        lambda t: look(
            t, [*(worker(n, t) for n in range(1, 9)), worker(9, t, sending=0.8, node="far")], [stream(1, t)], cores=8
        ),
        "all 8 cores are at work",
    ),
    "one worker is far slower than the others": (
        "slow_worker",
        lambda t: look(
            t,
            [worker(1, t, working=0.3), worker(2, t, working=0.99, bytes_per_s=1_000_000), worker(3, t, working=0.3)],
            [stream(1, t)],
        ),
        "have it replaced: `kill 102`",
    ),
    "one worker is far slower than the others, on another node": (
        "slow_worker",
        lambda t: look(
            t,
            [
                worker(1, t, working=0.3),
                worker(2, t, working=0.99, bytes_per_s=1_000_000, node="far"),
                worker(3, t, working=0.3),
            ],
            [stream(1, t)],
        ),
        "have it replaced: `kill 102` on node far",
    ),
    "one worker stands still": (
        "slow_worker",
        lambda t: look(
            t,
            [
                worker(1, t, working=0.1),
                worker(2, t, working=1.0, bytes_per_s=0, doing="task", busy_s=60.0, file="/a.h5", video="v"),
            ],
            [stream(1, t, steps_per_s=0.0, waiting=1.0)],
        ),
        "have it replaced: `kill 102`",
    ),
    "steps are wanted too late": (
        "lookahead",
        lambda t: look(t, [worker(n, t, working=0.3) for n in (1, 2)], [stream(1, t)]),
        "look further ahead: prefetch=12 in loader_client.dataset(…)",
    ),
    "more workers than cores, which are all at work": (
        "decoding",
        lambda t: look(
            t, [worker(n, t, working=0.4) for n in range(16)], [stream(1, t, slots=64, slots_wanted=64)], cores=2
        ),
        "all 2 cores are at work; decode at half scale",
    ),
    "… and fewer steps are wanted at a time than there are workers": (
        "lookahead",
        lambda t: look(
            t, [worker(n, t, working=0.4) for n in range(16)], [stream(1, t, slots=2, slots_wanted=2)], cores=2
        ),
        "look further ahead: prefetch=16",
    ),
    "… and the workers do not need them, since they read": (
        "lookahead",
        lambda t: look(t, [worker(n, t, working=0.4, reading=0.9) for n in range(16)], [stream(1, t)], cores=2),
        "look further ahead: prefetch=16",
    ),
    "no worker is there yet": (
        "starting",
        lambda t: look(t, [worker(1, 0.0, state="starting")], [stream(1, t, waiting=1.0, steps_per_s=0.0)]),
        "",
    ),
    "the trainer asks for nothing": (
        "idle",
        lambda t: look(t, [worker(1, t, working=0.0)], [stream(1, t, waiting=0.0, steps_per_s=0.0)]),
        "",
    ),
    "the trainer has told nothing": ("unknown", lambda t: look(t, [worker(1, t)], [stream(1, t, waiting=None)]), ""),
}


@pytest.mark.parametrize("case", CASES)
def test_each_bottleneck_has_its_verdict_and_a_remedy(case: str) -> None:
    kind, make, advice = CASES[case]
    verdict = verdict_of(make)
    assert verdict.kind == kind
    assert verdict.advice.startswith(advice)
    assert bool(verdict.advice) is bool(advice)
    assert "\n" not in verdict.summary + verdict.advice


def test_a_verdict_says_what_takes_the_time() -> None:
    assert verdict_of(lambda t: busy(t, waiting=0.43)).summary == (
        "the trainer waits 43% of the time: decoding takes 95% of the workers' work"
    )
    said = verdict_of(CASES["reading from a network file system"][1]).summary
    assert said.endswith("reading takes 80% of the workers' work: nfs4 at /data gives 20.0 MiB/s, 300 slow reads")
    said = verdict_of(CASES["the user's transform"][1]).summary
    assert said.endswith("your transform 'augment:brighten' takes 70% of the workers' work")
    said = verdict_of(CASES["one worker is far slower than the others"][1]).summary
    assert said.endswith("the workers have time but for worker 2 (pid 102), which takes 10 times as long as the others")
    said = verdict_of(CASES["one worker stands still"][1]).summary
    assert said.endswith("worker 2 (pid 102), which is at one task for 60.0 s, now 'v' of '/a.h5'")


def test_a_command_names_the_service_where_it_is_not_the_default_one() -> None:
    (verdict,) = verdicts(busy(100.0), busy(110.0), "ipc:///x/y.sock")
    assert re.search(r"`(.*)`", verdict.advice)[1] == "loader-service scale 8 ipc:///x/y.sock"  # type: ignore[index]


def test_what_was_before_the_earlier_look_does_not_count() -> None:
    before = busy(1000.0, waiting=0.0)
    after = look(
        1010.0,
        [worker(n + 1, 1010.0, working=0.98) for n in range(4)],
        [stream(1, 1010.0, waiting=5.0 / 1010.0, steps_per_s=10.0)],
    )
    assert verdicts(before, after)[0].kind == "decoding"
    assert verdicts(None, after)[0].kind == "trainer", "over all its time it hardly waited"


def test_a_look_at_an_earlier_run_counts_for_nothing() -> None:
    other = look(5000.0, [worker(1, 5000.0)], [stream(1, 5000.0, waiting=0.9)])
    assert verdicts(other, busy(10.0, waiting=0.5)) == verdicts(None, busy(10.0, waiting=0.5))


def test_nobody_is_told_to_do_with_fewer_workers_while_another_trainer_waits() -> None:
    def make(t: float) -> Status:
        staff = [worker(n, t, working=0.6) for n in (1, 2, 3, 4)]
        return look(t, staff, [stream(1, t, waiting=0.4), stream(2, t, waiting=0.0)])

    first, second = verdicts(make(10.0), make(20.0))
    assert (first.kind, second.kind, second.advice) == ("decoding", "trainer", "")


def test_each_of_several_streams_has_its_own() -> None:
    def make(t: float) -> Status:
        return look(
            t, [worker(n, t, working=0.97) for n in (1, 2)], [stream(1, t, waiting=0.4), stream(2, t, waiting=0.0)]
        )

    assert [each.kind for each in verdicts(make(10.0), make(20.0))] == ["decoding", "trainer"]


def test_too_short_a_time_says_nothing() -> None:
    assert verdict_of(busy, seconds=0.1).kind == "unknown"


def test_a_service_without_anything_has_no_verdict() -> None:
    assert verdicts(None, look(0.0, [], [])) == ()
    assert verdicts(look(1.0, [], []), look(1.0, [], [stream(1, 0.0, waiting=None)]))[0].kind == "starting"
