"""The tests see all children of their process: what none may leave behind."""

from __future__ import annotations

import subprocess
import sys
import threading

from tests.support import processes


def test_children_that_a_thread_has_started_or_another_child_has_left_are_found():
    program = "import subprocess, sys; print(subprocess.Popen(['sleep', '100'], stdout=subprocess.DEVNULL).pid)"
    started: list[subprocess.Popen] = []
    thread = threading.Thread(target=lambda: started.append(subprocess.Popen(["sleep", "100"])))
    thread.start()
    thread.join()
    orphan = int(subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True).stdout)
    found = processes.children()
    assert {started[0].pid, orphan} <= found.keys()
    assert found[orphan] == "sleep 100"
    with started[0] as process:
        process.kill()
    subprocess.run(["kill", "-KILL", str(orphan)], check=True)
