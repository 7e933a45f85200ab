"""The log: one line a fact, for people or as JSON, on standard error or in a file, at the level that was asked for."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from loader_service.commands.log_lines import JsonLines, TextLines, set_up_log
from loader_service.errors import ConfigError
from tests.support.services import command_line, new_endpoint, running_service
from tests.support.waiting import eventually


def record(message: str, *arguments: Any, error: BaseException | None = None) -> logging.LogRecord:
    what = None if error is None else (type(error), error, None)
    return logging.LogRecord("room", logging.WARNING, __file__, 1, message, arguments, what)


HOSTILE = "file 'a\n2026-01-01 INFO all is well\x1b[2J\x9bé'"


def test_a_fact_is_one_line_whatever_a_name_holds() -> None:
    line = TextLines().format(record("bad sample: %s", HOSTILE))
    assert line.count("\n") == 0
    assert line.endswith(r"WARNING bad sample: file 'a\n2026-01-01 INFO all is well\x1b[2J\x9bé'")


def test_json_lines_have_names_for_programs() -> None:
    line = JsonLines().format(record("bad sample: %s", HOSTILE, error=ValueError("no")))
    assert line.count("\n") == 0
    found = json.loads(line)
    assert found["message"] == f"bad sample: {HOSTILE}"
    assert (found["level"], found["logger"], found["exception"]) == ("warning", "room", "ValueError: no")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", found["time"])
    assert isinstance(found["pid"], int)


def test_a_file_that_cannot_be_written_is_named_with_what_to_do(tmp_path: Path) -> None:
    place = str(tmp_path / "none" / "x.log")
    with pytest.raises(ConfigError, match=r"log_file='.*none/x.log': .*; give a file in a folder that you may"):
        set_up_log("text", place, logging.INFO)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--log-file=/nowhere/x.log"], "give a file in a folder that you may write to"),
        (["-v", "-q"], "verbose and quiet exclude each other; leave one out"),
        (["--log-format=xml"], "'xml' is not one of 'text', 'json'"),
    ],
)
def test_a_log_that_cannot_be_is_refused_at_once(options: list[str], said: str) -> None:
    words = command_line("start", f"--endpoint={new_endpoint()}", *options, "no-such-file.h5")
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_service_logs_json_to_a_file_that_may_be_moved_away(small_videos: Path, tmp_path: Path) -> None:
    log = tmp_path / "service.log"
    log.write_text("what was there before\n")
    with running_service(small_videos / "*.h5", log_file=log, log_format="json", verbose=True) as service:
        before = log.read_text().splitlines()
        assert before[0] == "what was there before"
        deeds = [json.loads(each) for each in before[1:]]
        assert any(each["level"] == "debug" and "StartWorker" in each["message"] for each in deeds)
        assert service.log == "", "nothing is on standard error"
        log.rename(tmp_path / "service.log.1")
        subprocess.run(command_line("scale", "2", service.endpoint), check=True, capture_output=True)
        lines = eventually(lambda: log.exists() and log.read_text().splitlines(), "a new file is there")
    assert all(json.loads(each)["message"] for each in lines)


def test_a_quiet_service_says_nothing_of_what_goes_well(small_videos: Path) -> None:
    with running_service(small_videos / "*.h5", quiet=True) as service:
        subprocess.run(command_line("status", service.endpoint), check=True, capture_output=True)
        assert service.log == ""


def test_the_log_loads_nothing_that_a_start_does_not_need() -> None:
    names = "'rich' in sys.modules, 'prometheus_client' in sys.modules"
    code = f"import sys, loader_service.commands.log_lines; print({names})"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "False False\n"
