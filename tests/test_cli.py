"""The command line: what it prints, its exit codes, and what it says to a beginner's mistakes."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
from importlib import metadata

import pytest

import loader_client
from loader_service import __version__
from loader_service.cli import cli, main
from loader_service.commands import reports
from loader_service.config import ServiceConfig, parse_size
from loader_service.errors import ConfigError
from loader_service.protocol.totals import WorkerTotals
from loader_service.worker.turbo_library import decoder_text
from loader_service.worker_bounds import WorkerBounds
from loader_service.worker_limits import check_workers, most_workers, parse_workers
from tests.support.services import command_line, new_endpoint, running_service
from tests.support.waiting import eventually


def run(*arguments, **environment):
    """Run the command as a user does."""
    return subprocess.run(
        command_line(*arguments),
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **environment},
    )


def complaint(*arguments, code=2, **environment):
    """Run the command, expect it to fail, and return the one line that it says beside news of what it has removed."""
    ended = run(*arguments, **environment)
    assert ended.returncode == code, ended.stderr
    assert ended.stdout == ""
    (line,) = [line for line in ended.stderr.splitlines() if " INFO removed " not in line]
    return line


@pytest.fixture
def in_process(monkeypatch, capsys):
    """Run a command that starts nothing in this process, which is faster; return exit code, output and errors."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["loader-service", *map(str, arguments)])
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = ended.code
        return (code, *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def service(small_videos):
    with running_service(small_videos / "*.h5", workers=1) as service:
        yield service


# ---- help


def test_help_lists_every_option_with_its_meaning(in_process):
    code, text, _ = in_process("start", "--help")
    assert code == 0
    words = " ".join(text.split())
    for field in dataclasses.fields(ServiceConfig):
        if "help" in field.metadata:
            flag = f"--{field.name.replace('_', '-')}"
            assert flag in text
            assert " ".join(field.metadata["help"].split()) in words


def test_help_lists_every_command(in_process):
    code, text, _ = in_process("--help")
    assert code == 0
    for name, command in cli.every_command().items():
        assert re.search(rf"^  {name} +{re.escape(command.help[:25])}", text, re.MULTILINE)


def test_no_arguments_show_the_help(in_process):
    _, out, err = in_process()
    assert "Commands:" in out + err


def test_version_is_the_packages(in_process):
    assert in_process("--version")[:2] == (0, f"loader-service, version {metadata.version('loader-service')}\n")


# ---- mistakes


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["strat"], "No such command 'strat'. Did you mean 'start'? See `loader-service --help`"),
        (["start"], "no files given; name HDF5 files or a pattern"),
        (["start", "x.h5", "--wrokers", "3"], "No such option '--wrokers'"),
        (["start", "x.h5", "--workers", "0"], "workers='0'; give 1 or more, bounds such as 2..16"),
        (["start", "x.h5", "--workers", "-2"], "workers='-2'; give 1 or more"),
        (["start", "x.h5", "--workers", "1025"], f"workers=1025; give 1 to {most_workers()}"),
        (["start", "x.h5", "--workers", "two"], "workers='two'; give 1 or more"),
        (["start", "x.h5", "--memory", "lots"], "'lots' is no size; give bytes, or a number with K, M, G or T"),
        (["start", "x.h5", "--memory", "0"], "'0' is no size above 0"),
        (["start", "x.h5", "--cache", "5"], "cache='5' is 5 B, which keeps no frame; give at least 64K (usual is 20G)"),
        (["start", "x.h5", "--cache", "5X:/x"], "cache='5X:/x': '5X' is no size; give bytes, or a number with K"),
        (
            ["start", "x.h5", "--memory", "1"],
            "memory=1 is 1 bytes, which holds no batch; give at least 64K, such as 8G",
        ),
        (["start", "x.h5", "--worker-memory", "1"], "a worker that has just started has more; give at least 16M"),
        (["pack", "x", "--out", "a.h5"], "No such option '--out'. Did you mean '--output'?"),
        (["unpack", "x", "--out", "a"], "No such option '--out'. (Did you mean one of: '--output', '--to'?)"),
        (["start", "x.h5", "--task-timeout", "0"], "task_timeout=0.0; give a number of seconds above 0"),
        (["start", "x.h5", "--client-timeout", "inf"], "client_timeout=inf; give a number of seconds above 0"),
        (["start", "x.h5", "--on-bad-file", "ignore"], "'ignore' is not one of 'raise', 'skip'"),
        (["status", "tcp://localhost:1"], "endpoint 'tcp://localhost:1' is not of the form ipc:///path/to/socket"),
        (["stop", "ipc://x.sock"], "needs an absolute path"),
        (
            ["stop", "--endpoint", "ipc:///x.sock"],
            "No such option '--endpoint'. Give the endpoint alone: loader-service stop ipc:///path/to/socket",
        ),
        (["scale", "-1"], "-1 is below 0; give 1 or more"),
        (["start", "x.h5", "--batch-size", "8"], "give it in Python, as loader_client.dataset(batch_size=…)"),
        (["start", "x.h5", "--crop", "random"], "as loader_client.dataset(image=Image(crop=…))"),
        (["start", "x.h5", "-w", "2"], "No such option '-w'. See `loader-service start --help`"),
        (["help"], "No such command 'help'. See `loader-service --help`"),
        (["pack", "x"], "Missing option '-o' / '--output'. See `loader-service pack --help`"),
        (["start", "x.h5", "--transform", "mine/own.py:f"], "such as mine.own:f"),
        (["scale", "0"], "workers='0'; give 1 or more, bounds such as 2..16"),
        (["scale"], "how many? give WORKERS, or --ray N"),
        (["start", "x.h5", "--split", "train", "--split=val"], "--split is given 2 times, 'train' and 'val'; "),
        (["inspect", "x.h5", "--split", "a", "--split", "a"], "'x.h5' does not exist"),
        (["inspect"], "Missing argument 'FILES...'"),
        (["inspect", "x.h5", "--json", "--toml"], "--json and --toml are two ways to print the same; leave one out"),
        (
            ["start", "--source", "a:B", "--allow-external"],
            "allow_external=True is for files, and source='a:B' has its",
        ),
        (["inspect", "/nowhere/*.h5"], "'/nowhere/*.h5' matches no file"),
        (["inspect", "/dev/null"], "'/dev/null' is a device, pipe or socket; give HDF5 files"),
        (["inspect", "/tmp"], "'/tmp' is a directory; give '/tmp/"),
    ],
)
def test_a_wrong_usage_is_one_line_and_exit_code_2(in_process, arguments, said):
    code, out, err = in_process(*arguments)
    assert code == 2
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("loader-service: ")
    assert said in line


@pytest.mark.parametrize("command", [["status"], ["catalog"], ["stop"], ["restart"], ["scale", "2"]])
def test_a_service_that_is_not_there_is_one_line_and_exit_code_1(monkeypatch, in_process, command):
    monkeypatch.setattr("loader_service.reaching.CONNECT_S", 0.2)
    endpoint = new_endpoint()
    code, _, err = in_process(*command, endpoint)
    assert code == 1
    (line,) = err.splitlines()
    assert line.startswith(f"loader-service: no service answers at {endpoint}")
    assert "start one with `loader-service start FILES…`" in line


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["/nowhere/*.h5"], "'/nowhere/*.h5' matches no file; check the path"),
        (["{videos}"], "is a directory; give '"),
        (["/dev/null"], "'/dev/null' is a device, pipe or socket"),
        (["{videos}/part0.h5", "--endpoint=ipc://{videos}/part1.h5"], "part1.h5' exists and is no socket"),
        (["{videos}/part0.h5", "--endpoint=ipc:///proc/x.sock"], "cannot lock ipc:///proc/x.sock"),
        (["{videos}/part0.h5", "--labels=/nowhere.csv"], "--labels '/nowhere.csv': cannot read it"),
        (["{videos}/part0.h5", "--lifeline-pid=999999999"], "cannot watch process 999999999"),
    ],
)
def test_a_service_that_cannot_start_says_why_and_exits_with_2(small_videos, arguments, said):
    options = [argument.format(videos=small_videos) for argument in arguments]
    if not any(option.startswith("--endpoint") for option in options):
        options.append(f"--endpoint={new_endpoint()}")
    line = complaint("start", "--workers=1", *options)
    assert said in line
    assert line.startswith("loader-service: ")


# ---- status, scale, stop, inspect


def test_ready_line_names_endpoint_counts_and_how_to_connect(service):
    ready, connect = eventually(lambda: service.said.count("\n") == 2 and service.said, "two lines").splitlines()
    assert ready == f"ready: {service.endpoint} (3 files, 12 videos, 146 frames, 1 worker)"
    assert connect == f'connect with: ds = loader_client.dataset("{service.endpoint}", batch_size=16)'


def test_status_shows_workers_streams_and_counters(service, in_process):
    with loader_client.connect(service.endpoint) as connection:
        batches = connection.batches(4, clip=loader_client.Clip(frames=4))
        next(batches)
        code, text, err = in_process("status", service.endpoint)
        batches.close()
    assert (code, err) == (0, "")
    lines = text.splitlines()
    verdict, at = lines[0], lines.index("serves 3 files, 12 videos, 146 frames")
    head, _, decoder, _, summary, workers, worker = lines[at - 1 : at + 6]
    assert verdict.startswith("stream 1, ")
    assert f"(pid {os.getpid()}): " in verdict
    assert decoder.startswith(
        "JPEGs: plain JPEGs and parts of them are decoded by this package's own decoder; of others, "
    )
    assert head.startswith(f"{service.endpoint}: pid {service.pid}, version 0.1.0, up ")
    assert summary.startswith("1 worker: working ")
    assert workers.split()[:3] == ["worker", "pid", "state"]
    assert worker.split()[:4] == ["1", str(service.worker_pids[0]), "working", "3"]
    assert "workers lost" not in text, "what never happened is left out"


def test_status_as_json_has_every_field(service, in_process):
    code, text, _ = in_process("status", "--json", service.endpoint)
    assert code == 0
    report = json.loads(text)
    assert report["pid"] == service.pid
    assert [worker["pid"] for worker in report["workers"]] == service.worker_pids
    assert report["faults"] == []
    assert (report["version"], report["service_version"], report["verdicts"]) == (1, __version__, [])
    assert set(dataclasses.asdict(WorkerTotals())) == set(report["workers"][0]["totals"])


def test_status_finds_the_service_through_the_environment(service, in_process, monkeypatch):
    monkeypatch.setenv("LOADER_SERVICE_ENDPOINT", service.endpoint)
    assert in_process("status")[1].startswith(
        f"no stream is open: nobody asks for data\n\n{service.endpoint}: pid {service.pid}"
    )


def test_scale_changes_the_number_of_workers(service, in_process):
    assert in_process("scale", "3", service.endpoint)[:2] == (0, "1 → 3 workers\n")
    with loader_client.connect(service.endpoint) as connection:
        eventually(lambda: [w.state for w in connection.status().workers] == ["working"] * 3, "three workers work")
        assert len(service.worker_pids) == 3
        assert in_process("scale", "1", service.endpoint)[:2] == (0, "3 → 1 worker\n")
        eventually(lambda: len(service.worker_pids) == 1, "one worker is left")
        assert connection.status().events == ()  # leaving when told to is no fault


def test_scale_beyond_reason_is_refused(service, in_process):
    code, _, err = in_process("scale", "5000", service.endpoint)
    assert (code, err) == (
        2,
        f"loader-service: workers=5000; give 1 to {most_workers()}, which is all that this host bears (64 for each CPU "
        "core, 1024 in all), and seldom more than there are cores\n",
    )


def test_what_can_be_done_in_part_only_is_not_begun(service, in_process):
    code, out, err = in_process("scale", "2", "--ray", "1", service.endpoint)
    assert (code, out) == (2, "")
    assert "no cluster for remote workers" in err
    with loader_client.connect(service.endpoint) as connection:
        assert connection.status().workers_wanted == 1


def test_stop_ends_the_service_with_exit_code_0(small_videos, in_process):
    with running_service(small_videos / "part0.h5") as service:
        code, said, _ = in_process("stop", service.endpoint)
        told, done = said.splitlines()
        assert (code, told) == (0, f"service {service.pid} is stopping")
        assert re.fullmatch(rf"service {service.pid} has ended after \d+\.\d s; nothing of it is left", done)
        assert service.wait(within_s=0.0) == 0  # by now


def test_inspect_shows_what_files_hold(small_videos, in_process):
    code, text, _ = in_process("inspect", small_videos / "*.h5")
    assert f"JPEGs: {decoder_text()}" in text
    assert code == 0
    for line in (
        "3 files, 12 videos, 146 frames, ",
        "frames in a video: 1 to 30, median 11",
        "read as: a video is a group, or a dataset, named by {video} below; entry n of its fields is frame n",
        "image 'frames': JPEG of 48 x 64 pixels",
        "value 'label': int64 for each video",
        f"for example 'f0v0' in '{small_videos}/part0.h5': 9 frames",
    ):
        assert line in text


def test_inspect_as_json_has_the_same_in_data(small_videos, in_process):
    code, text, _ = in_process("inspect", "--json", small_videos / "*.h5")
    assert code == 0
    report = json.loads(text)
    assert (report["files"], report["videos"], report["frames"]) == (3, 12, 146)
    assert report["layouts"] == ["groups"]
    assert report["frame_shape"] == [48, 64]
    assert report["first_videos"][0]["label"] == 0


def test_inspect_writes_a_schema_that_can_be_given_back(small_videos, in_process, tmp_path):
    code, text, _ = in_process("inspect", "--toml", small_videos / "*.h5")
    assert code == 0
    (tmp_path / "schema.toml").write_text(text.replace('"frames"', '"camera"'), encoding="utf-8")
    code, text, _ = in_process("inspect", "--schema", tmp_path / "schema.toml", small_videos / "*.h5")
    assert code == 0
    assert "image 'camera': JPEG of 48 x 64 pixels" in text
    (tmp_path / "schema.toml").write_text("colour = 1", encoding="utf-8")
    code, _, said = in_process("inspect", "--schema", tmp_path / "schema.toml", small_videos / "*.h5")
    assert (code, said.count("\n")) == (2, 1)
    assert "schema.toml': the schema: unknown key 'colour'" in said


def test_inspect_leaves_nothing_in_the_catalogs_folder_when_told_where_to_keep_it(small_videos, in_process, tmp_path):
    assert in_process("inspect", "--cache-dir", tmp_path / "cache", small_videos / "part0.h5")[0] == 0
    assert (tmp_path / "cache").is_dir()


# ---- parts


@pytest.mark.parametrize(
    ("text", "size"),
    [("1048576", 2**20), ("8G", 2**33), ("512MiB", 2**29), ("1.5k", 1536), ("2 GB", 2**31), ("1T", 2**40)],
)
def test_a_size_can_be_written_in_many_ways(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "G", "-1G", "0", "nan", "inf", "1e999", "8X", "8GG", "0x10"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ConfigError, match="is no size"):
        parse_size(text)


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "", "many", "²"])
def test_what_is_no_number_of_workers_is_refused(text):
    with pytest.raises(ConfigError, match="give 1 or more, or 'auto'"):
        parse_workers(text)


def test_workers_that_would_halt_the_host_are_refused(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    check_workers(128, most_workers())
    with pytest.raises(ConfigError, match="workers=129; give 1 to 128, which is all that this host bears"):
        check_workers(129, most_workers())


def test_auto_is_one_worker_for_each_core_that_may_be_used():
    assert ServiceConfig(("x",), workers=WorkerBounds.of("auto")).worker_count == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"), (2**50, "1024.0 TiB")]
)
def test_sizes_are_shown_for_people(size, text):
    assert reports.size_text(size) == text
