"""Tries programs, and tells a difference by the smallest program that has it."""

from __future__ import annotations

import re
from random import Random

from .drawing import program_of
from .oracle import Difference, check
from .statement import Program


def tried(seed: int) -> None:
    """Check the program of a seed; raises Difference for the smallest program with the same difference."""
    program = program_of(Random(seed))
    reason = difference(program)
    if reason is not None:
        smaller = smallest(program, _kind(reason))
        raise Difference(f"seed {seed}: {difference(smaller) or reason}")


def difference(program: Program) -> str | None:
    """What differs, None where nothing does.

    What torch and Python do once a process (importing, building tables) the plain run does for both: so a difference
    must be there the second time, too.
    """
    reason = None
    for _ in range(2):
        try:
            check(program)
        except Difference as difference:
            reason = str(difference)
        except SyntaxError:
            return None  # Leaving out has left no program.
        else:
            return None
    return reason


def smallest(program: Program, kind: str) -> Program:
    """As few statements as still show a difference of that kind."""
    changed = True
    while changed:
        changed = False
        for path in program.paths():
            for shorter in (program.without(path), program.flattened(path)):
                if shorter != program and _kind(difference(shorter) or "") == kind:
                    program, changed = shorter, True
                    break
            if changed:
                break
    return program


def _kind(reason: str) -> str:
    return re.sub(r"\b[vwx]\d+|\d+|'.*", "", reason.partition("\n")[0])[:40]
