"""The whole of it: ``python -m tests.mutation [--only KIND] [--program NAME] [--count N] [-v] [--repairs]``."""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import torch

from .catalogue import PROGRAMS
from .operators import KINDS
from .scoring import EACH, mutants, originals, scores, unsafe
from .table import failures, table, unrepaired


def main() -> int:
    """Plant, run and score; 1 when a program without a fault is not silent, or a safe edit changes it."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--only", action="append", metavar="KIND", help=f"one kind of fault: {', '.join(KINDS)}")
    parser.add_argument("--program", action="append", metavar="NAME", help="programs whose name contains it")
    parser.add_argument("--each", type=int, default=EACH, help="how many mutants of each kind in each program")
    parser.add_argument("--count", type=int, help="so many mutants of all")
    parser.add_argument("--seed", type=int, default=1, help="which mutants")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", type=Path, help="write the scores to this file")
    parser.add_argument("-v", action="store_true", help="print what was said of those that failed")
    parser.add_argument("--repairs", action="store_true", help="print the faults that the reports' edits do not cure")
    options = parser.parse_args()
    torch.set_num_threads(1)
    names = [name for name in PROGRAMS if not options.program or any(part in name for part in options.program)]
    kinds = options.only or list(KINDS)
    with tempfile.TemporaryDirectory() as folder:
        known = {each.name: each for each in originals(names, Path(folder), options.jobs)}
        chosen = mutants(known.values(), kinds, options.seed, options.each)
        random.Random(options.seed).shuffle(chosen)
        chosen = chosen[: options.count]
        changed = unsafe(known.values(), Path(folder))
        done = []
        start = time.perf_counter()
        for score in scores(chosen, known, Path(folder), options.jobs):
            done.append(score)
            if len(done) % 50 == 0 or len(done) == len(chosen):
                rate = len(done) / (time.perf_counter() - start)
                left = (len(chosen) - len(done)) / rate
                print(f"{len(done):5} of {len(chosen)} mutants, {left:4.0f} s left", file=sys.stderr, flush=True)
    done.sort(key=lambda score: (score.kind, score.program, score.at))
    if options.v:
        print("\n".join(failures(done, known.values())))
    if options.repairs:
        print("\n".join(unrepaired(done)))
    print("\n".join(table(done, known.values())))
    print(f"safe edits change {len(changed)} of them {' '.join(changed)}".rstrip())
    if options.json:
        options.json.write_text(json.dumps([asdict(score) for score in done], indent=1), encoding="utf-8")
    return int(bool(changed) or any(each.loud for each in known.values()))


if __name__ == "__main__":
    sys.exit(main())
