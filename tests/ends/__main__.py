"""Lets both ends live for as long as is asked: ``python -m tests.ends SECONDS [FIRST_SEED]``; prints what they did."""

from __future__ import annotations

import itertools
import logging
import sys
import time
import traceback

from tests.ends.lives import Tally, live

_SAY_EVERY_S = 60.0


def main() -> int:
    """Return 0 when every life kept to the rules."""
    logging.disable(logging.WARNING)  # of bad samples, by the thousand
    seconds, first_seed = float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    begun = said = time.monotonic()
    tally, failures = Tally(), 0
    for seed in itertools.count(first_seed):
        now = time.monotonic()
        if now - begun > seconds:
            break
        if now - said > _SAY_EVERY_S:
            said = now
            print(f"{tally}, {failures} failures in {now - begun:.0f} s", flush=True)
        try:
            live(seed, tally)
        except Exception:  # noqa: BLE001 - all of them are told, and others follow
            failures += 1
            print(f"seed {seed}:\n{traceback.format_exc()}", flush=True)
    print(f"{tally}, {failures} failures in {time.monotonic() - begun:.0f} s; the last seed was {seed - 1}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
