"""`status` shows each of the latest faults once, with how often it came."""

from __future__ import annotations

from loader_service.daemon.latest_faults import LatestFaults


def test_faults_are_listed_in_order_with_their_times():
    faults = LatestFaults(50)
    faults.add("worker 1 was killed by SIGKILL", 1.25)
    faults.add("bad sample in stream 1: no such frame", 2.0)
    assert faults.lines == ("1.2 s: worker 1 was killed by SIGKILL", "2.0 s: bad sample in stream 1: no such frame")


def test_a_fault_that_comes_again_is_counted_and_is_the_latest():
    faults = LatestFaults(50)
    for at_s, line in ((1.0, "bad sample"), (2.0, "worker 1 ended"), (3.0, "bad sample"), (4.0, "bad sample")):
        faults.add(line, at_s)
    assert faults.lines == ("2.0 s: worker 1 ended", "4.0 s: bad sample (3 times)")


def test_the_oldest_goes_when_there_are_too_many_and_a_repeated_one_crowds_none_out():
    faults = LatestFaults(3)
    faults.add("first", 0.0)
    for number in range(100):
        faults.add("bad sample", float(number))
    faults.add("third", 100.0)
    assert faults.lines[0] == "0.0 s: first"
    faults.add("fourth", 101.0)
    assert faults.lines == ("99.0 s: bad sample (100 times)", "100.0 s: third", "101.0 s: fourth")
