"""Metrics say what `Status` says, under names that stay, with labels that do not grow; what is deployed uses these."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import loader_client
from loader_client import Clip
from loader_service.core.ledger import Counters
from loader_service.daemon.side_programs import listen_at
from loader_service.errors import ConfigError, ServiceUnavailable
from loader_service.protocol.messages import Counter, Status
from loader_service.protocol.totals import FileSystemTotals, StreamTotals, WorkerTotals
from loader_service.watching.metric_table import METRICS
from loader_service.watching.metrics_process import StatusCollector, application
from loader_service.watching.verdict import verdicts
from tests.support import processes
from tests.support.machine import at_most
from tests.support.services import command_line, new_endpoint, running_service
from tests.support.waiting import eventually
from tests.watching.looks import look, stream, worker

HOST_ADDRESSES = {
    str(each[4][0]) for each in socket.getaddrinfo("localhost", 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
}

ROOT = Path(__file__).parents[2]
PROMETHEUS, GRAFANA = ROOT / "deploy" / "prometheus", ROOT / "deploy" / "grafana" / "loader-service.json"


def status(seconds: float = 100.0) -> Status:
    return dataclasses.replace(
        look(seconds, [worker(1, seconds), worker(2, seconds)], [stream(1, seconds)]),
        worker_totals=WorkerTotals(up_seconds_total=2 * seconds, reading_seconds_total=7.5),
        stream_totals=StreamTotals(steps_total=int(10 * seconds), trainer_waiting_seconds_total=seconds / 2),
        file_systems=(FileSystemTotals('nfs4 at /"data"\n\\', 7.5, 2**20, 3),),
    )


def asked(app: Any, path: str = "/metrics", method: str = "GET") -> tuple[str, str]:
    """Return status line and body of an answer."""
    said: list[str] = []
    environ = {"PATH_INFO": path, "REQUEST_METHOD": method, "QUERY_STRING": "", "HTTP_ACCEPT": ""}
    body = b"".join(app(environ, lambda line, *_: said.append(line)))
    return said[0], body.decode()


def test_metrics_are_what_the_status_says() -> None:
    line, body = asked(application(StatusCollector(status)))
    assert line == "200 OK"
    for expected in (
        "loader_service_trainer_waiting_seconds_total 50.0",
        "loader_service_steps_total 1000.0",
        'loader_service_worker_seconds_total{activity="reading"} 7.5',
        'loader_service_workers{state="working"} 2.0',
        'loader_service_streams{verdict="decoding"} 1.0',
        'loader_service_streams{verdict="memory"} 0.0',
        'loader_service_read_bytes_total{file_system="nfs4 at /\\"data\\"\\n\\\\"} 1.048576e+06',
        'loader_service_events_total{event="samples_bad"} 3.0',
        "# TYPE loader_service_steps_total counter",
        "# TYPE loader_service_oldest_want_seconds gauge",
    ):
        assert expected in body.splitlines()


def test_names_have_base_units_and_sums_end_in_total() -> None:
    names = [each.name for each in METRICS]
    assert len(set(names)) == len(names)
    for each in METRICS:
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", each.name)
        assert each.name.endswith("_total") is (each.kind == "counter")
        assert not re.search(r"_(ms|us|s|mb|kb|percent|ratio)(_|$)", each.name)


def test_no_label_grows_with_workers_streams_clients_files_or_file_systems() -> None:
    many = dataclasses.replace(
        look(9.0, [worker(n, 9.0) for n in range(300)], [stream(n, 9.0, client=f"c{n}") for n in range(300)]),
        file_systems=tuple(FileSystemTotals(f"nfs at /{n}", 1.0, 1, 1) for n in range(300)),
        counters=tuple(Counter(name, 1) for name in vars(Counters())),
    )
    found = verdicts(None, many)
    for each in METRICS:
        assert len(each.values(many, found)) <= 20, each.name
    assert sum(next(each for each in METRICS if each.name == "slow_reads_total").values(many, found).values()) == 300


def test_what_came_from_remote_workers_is_told_in_seconds_and_bytes_and_is_no_event() -> None:
    counters = (Counter("workers_lost", 2), Counter("receiver_cpu_ms", 1500), Counter("received_bytes", 4096))
    far = dataclasses.replace(status(), counters=counters)
    lines = asked(application(StatusCollector(lambda: far)))[1].splitlines()
    assert "loader_service_receiver_cpu_seconds_total 1.5" in lines
    assert "loader_service_received_bytes_total 4096.0" in lines
    assert [each for each in lines if each.startswith("loader_service_events_total{")] == [
        'loader_service_events_total{event="workers_lost"} 2.0'
    ]


def test_verdicts_are_over_the_time_since_an_earlier_look() -> None:
    seconds = iter([100.0, 100.5, 103.0])
    collector = StatusCollector(lambda: status(next(seconds)))
    seen = [{each.name: each for each in collector.collect()} for _ in range(3)]
    assert all("loader_service_streams" in each for each in seen)
    before = collector._before(status(104.0))
    assert before is not None
    assert before.uptime_s == 100.5, "the latest that is old enough"


def test_a_service_that_does_not_answer_is_an_error_of_the_request() -> None:
    def ask() -> Status:
        raise ServiceUnavailable("no service answers at ipc:///x.sock")

    assert asked(application(StatusCollector(ask))) == (
        "503 Service Unavailable",
        "no service answers at ipc:///x.sock\n",
    )


@pytest.mark.parametrize(("path", "method"), [("/", "GET"), ("/metrics/../etc", "GET"), ("/metrics", "POST")])
def test_there_is_nothing_but_the_metrics(path: str, method: str) -> None:
    assert asked(application(StatusCollector(status)), path, method)[0] == "404 Not Found"


@pytest.mark.parametrize("address", ["9464", "localhost", "127.0.0.1:", ":9464", "127.0.0.1:99999", "127.0.0.1:-1"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match=r"give HOST:PORT, such as 127.0.0.1:9464"):
        listen_at(address)


def test_an_address_that_another_has_is_an_error_of_the_start(small_videos: Path) -> None:
    with listen_at("127.0.0.1:0") as taken:
        port = taken.getsockname()[1]
        words = command_line("start", f"--endpoint={new_endpoint()}", f"--metrics=127.0.0.1:{port}", small_videos / "*")
        done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2
    assert f"metrics='127.0.0.1:{port}': [Errno 98] Address already in use; give another port" in done.stderr


def test_ipv6_addresses_are_written_in_brackets() -> None:
    if "::1" not in HOST_ADDRESSES:
        pytest.skip("this host has no IPv6")
    with listen_at("[::1]:0") as listening:
        assert listening.getsockname()[0] == "::1"


# ---- a real service


@pytest.fixture(scope="module")
def serving(small_videos: Path) -> Iterator[tuple[Any, str]]:
    """Return a service with metrics, and where these are."""
    with running_service(small_videos / "*.h5", metrics="127.0.0.1:0") as service:
        yield service, re.search(r"metrics at (http://\S+)", service.log)[1]  # type: ignore[index]


def scrape(url: str) -> str:
    """Return the metrics; wait for a process that starts."""
    with urllib.request.urlopen(url, timeout=300) as answer:
        text: str = answer.read().decode()
    return text


def value(text: str, name: str) -> float:
    return float(next(line.split()[-1] for line in text.splitlines() if line.startswith(f"loader_service_{name} ")))


def test_a_training_moves_the_metrics_of_its_service(serving: tuple[Any, str]) -> None:
    service, url = serving
    before = scrape(url)
    with loader_client.connect(service.endpoint) as connection:
        steps = sum(1 for _ in connection.batches(4, clip=Clip(1), epochs=3))
        after = eventually(
            lambda: (
                (text := scrape(url)) and value(text, "steps_total") >= value(before, "steps_total") + steps and text
            ),
            "all steps are counted",
        )
    assert value(after, "delivered_rows_total") - value(before, "delivered_rows_total") >= 4 * steps
    assert value(after, "delivered_bytes_total") > value(before, "delivered_bytes_total")
    assert value(after, "uptime_seconds") > value(before, "uptime_seconds")


def test_metrics_that_nobody_reads_to_the_end_hold_nobody_up(serving: tuple[Any, str]) -> None:
    service, url = serving
    host, port = re.search(r"//(.*):(\d+)/", url).groups()  # type: ignore[union-attr]
    silent = [socket.create_connection((host, int(port))) for _ in range(8)]
    try:
        began = time.monotonic()
        assert "loader_service_steps_total" in scrape(url)
        assert time.monotonic() - began < at_most(5.0)
        with loader_client.connect(service.endpoint) as connection:
            assert sum(1 for _ in connection.batches(4, clip=Clip(1))) > 0
    finally:
        for each in silent:
            each.close()


def test_a_process_of_metrics_that_is_killed_comes_back_and_the_service_says_so(serving: tuple[Any, str]) -> None:
    service, url = serving
    scrape(url)
    (pid,) = (pid for pid, words in processes.children(service.pid).items() if "metrics_process" in words)
    os.kill(pid, signal.SIGKILL)
    assert "loader_service_uptime_seconds" in eventually(lambda: scrape_or_none(url), "it is back")
    with loader_client.connect(service.endpoint) as connection:
        assert any("the process of the metrics was killed by SIGKILL" in each for each in connection.status().events)


def scrape_or_none(url: str) -> str | None:
    try:
        return scrape(url)
    except (urllib.error.URLError, ConnectionError):
        return None


def test_ten_askers_at_once_get_the_same_names(serving: tuple[Any, str]) -> None:
    answers: list[set[str]] = []

    def ask() -> None:
        answers.append({line.split(" ")[0] for line in scrape(serving[1]).splitlines()})

    threads = [threading.Thread(target=ask) for _ in range(10)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(answers) == 10
    assert all(each == answers[0] for each in answers)


# ---- what is deployed


def names_in(text: str) -> set[str]:
    return set(re.findall(r"\bloader_service_[a-z_]+\b", text))


def test_each_query_of_the_dashboard_and_each_alert_names_a_metric_that_exists() -> None:
    known = {each.full_name for each in METRICS}
    board = json.loads(GRAFANA.read_text())
    queries = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    asked_for = set().union(*map(names_in, queries))
    assert len(queries) > 15
    assert all(map(names_in, queries))
    assert asked_for <= known
    assert known - asked_for == set(), "a metric that the dashboard does not show"
    alerts = (PROMETHEUS / "alerts.yml").read_text()
    assert names_in(alerts) <= known
    (events,) = (each for each in METRICS if each.name == "events_total")
    there = dataclasses.replace(status(), counters=tuple(Counter(name, 0) for name in vars(Counters())))
    named = set(re.findall(r'event="(\w+)"', alerts + GRAFANA.read_text()))
    assert named
    assert named <= set(events.values(there, ()))


def test_the_dashboard_has_its_rows_and_no_two_panels_in_one_place() -> None:
    board = json.loads(GRAFANA.read_text())
    assert [each["title"] for each in board["panels"] if each["type"] == "row"] == [
        "Trainers", "Workers", "Memory", "Faults",
    ]  # fmt: skip
    taken: set[tuple[int, int]] = set()
    for place in (each["gridPos"] for each in board["panels"]):
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        taken |= cells
    assert len({each["id"] for each in board["panels"]}) == len(board["panels"])


def test_each_alert_has_a_case_in_which_it_is_given() -> None:
    alerts = re.findall(r"alert: (\w+)", (PROMETHEUS / "alerts.yml").read_text())
    tested = re.findall(r"alertname: (\w+)", (PROMETHEUS / "alerts_test.yml").read_text())
    assert len(alerts) >= 7
    assert sorted(alerts) == sorted(set(tested))


needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool (apt install prometheus)")


@needs_promtool
@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "rules", PROMETHEUS / "alerts.yml"),
        ("check", "config", PROMETHEUS / "prometheus.yml"),
        ("test", "rules", PROMETHEUS / "alerts_test.yml"),
    ],
    ids=["rules", "config", "tests of the rules"],
)
def test_promtool_finds_nothing_wrong(arguments: tuple[Any, ...]) -> None:
    done = subprocess.run(["promtool", *map(str, arguments)], check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_promtool_finds_nothing_wrong_with_the_metrics() -> None:
    _, body = asked(application(StatusCollector(status)))
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=body, check=False, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@needs_promtool
def test_queries_of_the_dashboard_are_well_formed(tmp_path: Path) -> None:
    board = json.loads(GRAFANA.read_text())
    queries = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    plain = [each.replace("$__rate_interval", "5m").replace("$instance", ".*") for each in queries]
    rules = [{"record": f"panel:{n}", "expr": each} for n, each in enumerate(plain)]
    file = tmp_path / "rules.json"  # which is YAML too
    file.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    done = subprocess.run(
        ["promtool", "check", "rules", file], check=False, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
