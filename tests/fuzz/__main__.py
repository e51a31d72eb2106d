"""The long search: ``python -m tests.fuzz --count 100000`` stops at the first counterexample of each process.

Half of the programs are of the grammar (``gradients``: what is said of them must be true), half of everything else that
a program may do (``faithful``: it must run the same under the inspector). One in twenty more is a test of the rules,
rewritten so that its programs do the same (``variants``: what is said of them must be the same).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable

BATCH = 1000


def gradients(seed: int, count: int) -> None:
    """Check so many programs of the grammar, others with each seed."""
    from . import testing

    testing.gradients(seed, count)


def faithful(seed: int, count: int) -> None:
    """Check so many programs of everything else."""
    from .faithful.apart import tried_apart

    tried_apart(range(seed, seed + count))


def variants(seed: int, count: int) -> None:
    """Check so many rewritten tests of the rules."""
    from tests.metamorphic import running

    running.search(seed, count)


FAMILIES: dict[str, Callable[[int, int], None]] = {"gradients": gradients, "faithful": faithful, "variants": variants}
PARTS = {"gradients": 2, "faithful": 2, "variants": 20}
"""Of the programs asked for, each family checks this part."""


def search(family: str, seed: int, count: int) -> int:
    """Search in this process; 1 when there is a counterexample."""
    from tests.metamorphic.running import TRIED as REWRITTEN

    from .faithful.oracle import TRIED as PLAINLY
    from .tried import TRIED, described

    start = time.perf_counter()
    for done in range(0, count, BATCH):
        batch = min(BATCH, count - done)
        try:
            FAMILIES[family](seed * 1_000_000 + done, batch)
        except AssertionError as counterexample:
            print(f"{family}: counterexample after {done:,} programs: {counterexample}", flush=True)
            return 1
        rate = (done + batch) / (time.perf_counter() - start)
        print(f"{family}: {done + batch:>9,} of {count:,} programs, {rate:.0f} a second", flush=True)
    print(described({"gradients": TRIED, "faithful": PLAINLY, "variants": REWRITTEN}[family]), flush=True)
    return 0


def main() -> int:
    """Search in as many processes as there are cores; 1 when any of them finds a counterexample."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=10 * BATCH, help="how many programs")
    parser.add_argument("--seed", type=int, default=1, help="which programs")
    parser.add_argument("--only", choices=FAMILIES, help="one family alone, in this process")
    options = parser.parse_args()
    if options.only:
        return search(options.only, options.seed, options.count)
    jobs = max(1, (os.cpu_count() or 2) // 2)  # A share of each family.
    seed = options.seed * 1000
    command = [sys.executable, "-m", "tests.fuzz"]
    running = [
        subprocess.Popen(
            [
                *command,
                f"--only={family}",
                f"--count={-(-options.count // (PARTS[family] * jobs))}",
                f"--seed={seed + job}",
            ]
        )
        for family in FAMILIES
        for job in range(jobs)
    ]
    return max(process.wait() for process in running)


if __name__ == "__main__":
    sys.exit(main())
