"""`status` shows each of the latest faults once, with how often it came."""

from __future__ import annotations

from loader_service.daemon.service_log import LatestFaults
from loader_service.protocol.messages import Fault


def test_faults_are_listed_in_order_with_their_times():
    faults = LatestFaults(50)
    faults.add("worker 1 was killed by SIGKILL", 1.25)
    faults.add("bad sample in stream 1: no such frame", 2.0)
    assert faults.all == (
        Fault(1.25, 1, "worker 1 was killed by SIGKILL"),
        Fault(2.0, 1, "bad sample in stream 1: no such frame"),
    )


def test_a_fault_that_comes_again_is_counted_and_is_the_latest():
    faults = LatestFaults(50)
    for at_s, line in ((1.0, "bad sample"), (2.0, "worker 1 ended"), (3.0, "bad sample"), (4.0, "bad sample")):
        faults.add(line, at_s)
    assert faults.all == (Fault(2.0, 1, "worker 1 ended"), Fault(4.0, 3, "bad sample"))


def test_the_oldest_goes_when_there_are_too_many_and_a_repeated_one_crowds_none_out():
    faults = LatestFaults(3)
    faults.add("first", 0.0)
    for number in range(100):
        faults.add("bad sample", float(number))
    faults.add("third", 100.0)
    assert faults.all[0] == Fault(0.0, 1, "first")
    faults.add("fourth", 101.0)
    assert faults.all == (Fault(99.0, 100, "bad sample"), Fault(100.0, 1, "third"), Fault(101.0, 1, "fourth"))
