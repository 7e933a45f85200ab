"""A training across `loader-service restart` has the same bytes in the same order."""

from __future__ import annotations

import itertools
import subprocess

import pytest

import loader_client
from loader_client import Patience
from tests.faults.training import Log, Train
from tests.support.services import command_line, running_service


@pytest.mark.parametrize("supervise", [False, True])
def test_a_training_goes_on_at_the_same_step_across_restarts(
    videos: str, undisturbed: Log, train: Train, supervise: bool
) -> None:
    with running_service(videos, workers=2, **({"supervise": True} if supervise else {})) as service:
        with loader_client.connect(service.endpoint) as connection:
            before = connection.status().pid
        steps = train(service.endpoint, patience=Patience(reconnect_timeout_s=60))
        log: Log = []
        for _ in range(3):
            log += itertools.islice(steps, 3)
            done = subprocess.run(command_line("restart", service.endpoint), capture_output=True, check=False)
            assert done.returncode == 0, done.stderr
        log += steps
        assert log == undisturbed
        with loader_client.connect(service.endpoint) as connection:
            assert connection.status().pid == before
        assert "starting it again" not in service.log
