"""Checks the programs themselves, without the inspector: `python -m tests.practice [NAME...]`.

Of each program that a NAME is part of (all, without one): it ends as its truth says, the symptom is there, and with
the cause repaired it is gone: nothing is raised, and `verify()` fails.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import torch

from tests.practice.programs import as_described, every, loaded, name_of, repaired, run, truth_of


def fault_of(source: Path) -> str:
    """Say what is wrong with a program's truth, or return nothing."""
    module = loaded(source)
    truth = truth_of(module)
    fault = as_described(module, run(module))
    if fault or truth.healthy:
        return fault
    if not truth.raises and not hasattr(module, "verify"):
        return "neither raises nor verifies anything"
    well = loaded(source, repaired(source, truth))
    outcome = run(well)
    if isinstance(outcome, Exception):
        return f"repaired, it ends with {outcome!r}"
    if hasattr(well, "verify"):
        try:
            well.verify(outcome)
        except AssertionError:
            return ""
        return "repaired, the symptom is still there"
    return ""


def main(names: list[str]) -> int:
    """Check the programs, print one line for each that is not as it says, and return the exit status."""
    torch.set_num_threads(1)
    wrong = checked = 0
    for source in every():
        name = name_of(source)
        if names and not any(part in name for part in names):
            continue
        checked += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fault = fault_of(source)
        if fault:
            wrong += 1
            print(f"{name}: {fault}")
    print(f"{checked - wrong} of {checked} programs are as they say")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
