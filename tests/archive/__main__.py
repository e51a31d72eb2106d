"""``python -m tests.archive [count] [first seed]``: more damage than `make test` has time for."""

from __future__ import annotations

import resource
import sys
import time
import traceback

from .mutations import Damage
from .reports import KINDS, report
from .shown import read, shown_everywhere

SLOW = 10.0


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    damages = [Damage(report(kind).to_json()) for kind in KINDS]
    failed = shown = 0
    slowest = 0.0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for seed in range(first, first + count):
        started = time.process_time()
        try:
            damaged_report = read(damages[seed % len(damages)].one(seed))
            if damaged_report is not None:
                shown += 1
                shown_everywhere(damaged_report)
        except Exception:
            failed += 1
            print(f"seed {seed} ({KINDS[seed % len(KINDS)]}):\n{traceback.format_exc()}")
        slowest = max(slowest, time.process_time() - started)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1000
    print(f"{count} damaged reports: {shown} shown, {count - shown} refused, {failed} failed")
    print(f"the slowest took {slowest:.1f} s of processor time; {grown:.0f} MB more than the sound ones")
    return int(bool(failed) or slowest > SLOW)


if __name__ == "__main__":
    sys.exit(main())
