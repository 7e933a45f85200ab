"""What verdicts advise for the next start of a service: it is followed as it is printed, and the verdict is another."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from statistics import median

from loader_client import Frame
from loader_service.config import ServiceConfig
from loader_service.protocol.messages import Counter, Status
from loader_service.start_command import read_option
from loader_service.watching.verdict import verdicts
from tests.support.range_server import range_server
from tests.support.services import running_service
from tests.support.videos import make_videos, write_videos
from tests.support.waiting import eventually
from tests.watching.looks import look, stream, worker
from tests.watching.test_bottlenecks import Scene, steps_per_s, training, verdict_of

ROOT = Path(__file__).parents[2]

#: What a store takes until the first byte of each answer, in seconds.
_LATENCY_S = 0.4


def test_a_slow_store_is_named_and_its_local_copy_ends_that(tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "scratch").mkdir()
    write_videos(tmp_path / "web" / "a.h5", "group_vlen", make_videos([6, 6], height=480, width=640))
    scene = Scene("reading", "", stream={"batch_size": 2, "clip": Frame(), "prefetch": 1})
    with range_server(tmp_path / "web") as server:
        url, cache = server.url("a.h5"), tmp_path / "cache"
        with running_service(url, cache_dir=cache) as service:  # scanned while the store is quick
            assert service.pid
        server.faults.extend([_LATENCY_S] * 100_000)
        with running_service(url, cache_dir=cache) as service, training(service, scene) as connection:
            verdict, slow = verdict_of(connection, "reading")
        assert verdict.kind == "reading", verdict
        assert re.search(r"reading takes \d+% of the workers' work: http://127\.0\.0\.1:\d+ gives ", verdict.summary)
        (option,) = re.findall(
            r"keep what is fetched on a local disk: start it with (--local-copy \S+)", verdict.advice
        )
        assert option == "--local-copy 200G:/scratch"
        copy = option.split()[1].replace("/scratch", str(tmp_path / "scratch"))
        with (
            running_service(url, cache_dir=cache, local_copy=copy) as service,
            training(service, scene) as connection,
        ):
            after, _ = verdict_of(connection, "decoding")
            assert after.kind != "reading", f"{after} after {verdict}"
            eventually(lambda: steps_per_s(connection) > 2 * slow, "more steps")


#: Share of the work of remote workers in which they wait until their rows have arrived, where these are encrypted.
_SENDING = 0.6


def far_away(up_s: float, cost: float) -> Status:
    """Return a look at a receiver that is full with encrypted rows, and rows that cost it so much of what these do."""
    sending = _SENDING * cost / (_SENDING * cost + 1 - _SENDING)
    counters = (Counter("receiver_cpu_ms", int(950 * up_s * cost)), Counter("received_bytes", int(1e8 * up_s)))
    there = [worker(n, up_s, working=0.95, sending=sending, node="n1") for n in (1, 2)]
    return look(up_s, there, [stream(1, up_s)], cores=1, counters=counters)


#: Prints the receiver's CPU for 256 MiB of plain rows as a share of that for encrypted ones, three times.
_MEASURED = """
from benchmarks.remote import receiving
for _ in range(3):
    plain, curve = (receiving(encrypt=each, rows=16, row_bytes=2**20, total_bytes=2**28) for each in (False, True))
    print(plain.receiver_s / curve.receiver_s)
"""


def test_rows_that_are_not_encrypted_end_what_a_full_receiver_costs() -> None:
    (full,) = verdicts(far_away(100.0, 1.0), far_away(110.0, 1.0))
    assert full.kind == "receiver"
    (option,) = re.findall(r"on a closed network start it with (--no-encrypt)$", full.advice)
    assert read_option([option], "no_encrypt") == "True"
    assert ServiceConfig(("a.h5",), ray="auto", no_encrypt=True).no_encrypt
    measured = subprocess.run([sys.executable, "-c", _MEASURED], cwd=ROOT, check=True, capture_output=True, timeout=300)
    cost = median(map(float, measured.stdout.split()))
    (after,) = verdicts(far_away(100.0, cost), far_away(110.0, cost))
    assert after.kind == "decoding", f"{after}: a row costs {cost:.2f} of what an encrypted one does"
