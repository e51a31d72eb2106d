"""The long search: ``python -m tests.fuzz --count 100000`` stops at the first counterexample."""

from __future__ import annotations

import argparse
import sys
import time

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings

from .oracles import Counterexample
from .programs import programs
from .searching import searched
from .tried import TRIED, described

BATCH = 1000


def batch(number: int, count: int) -> None:
    """Check so many programs, others in each batch."""

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,  # The counterexample is told as a program that runs.
    )
    @given(programs())
    def search(program):
        searched(program)

    search()


def main() -> int:
    """Search; 1 when there is a counterexample."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Differential fuzzing.")
    parser.add_argument("--count", type=int, default=10 * BATCH, help="how many programs")
    parser.add_argument("--seed", type=int, default=1, help="which programs")
    options = parser.parse_args()
    start = time.perf_counter()
    for done in range(0, options.count, BATCH):
        try:
            batch(options.seed * 1_000_000 + done, min(BATCH, options.count - done))
        except Counterexample as found:
            print(f"counterexample after {TRIED['programs']:,} programs: {found}")
            return 1
        rate = TRIED["programs"] / (time.perf_counter() - start)
        alarms = f"{TRIED['AG201 error']:,} AG201, {TRIED['AG202 error']:,} AG202"
        print(f"{TRIED['programs']:>9,} of {options.count:,} programs, {rate:.0f} a second, {alarms}", flush=True)
    print(described())
    return 0


if __name__ == "__main__":
    sys.exit(main())
