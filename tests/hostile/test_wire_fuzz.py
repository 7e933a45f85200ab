"""Damaged payloads by the thousand: each ends in messages or in a refusal, and none takes memory or long."""

from __future__ import annotations

import pytest

from benchmarks.fuzz import fuzz_wire
from tests.hostile import inputs


@pytest.mark.parametrize("seed", range(5))
def test_ten_thousand_damaged_payloads_are_read_or_refused(seed):
    tally = fuzz_wire(inputs.PAYLOADS, 2_000, seed)
    assert set(tally.outcomes) <= {"accepted", "ProtocolError", "ConfigError"}
    assert tally.outcomes["accepted"] > 20, "the damage is so great that nothing behind the first checks was reached"
    assert tally.slowest_s < 1.0
