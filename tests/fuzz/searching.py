"""Checks a program, and tells a counterexample in its smallest form."""

from __future__ import annotations

import re

from .oracles import Counterexample, check
from .program import Program
from .reducing import smallest


def searched(program: Program) -> None:
    """Check a program; raise Counterexample for the smallest one that fails for the same reason."""
    reason = failure(program)
    if reason is None:
        return
    kind = _kind(reason)
    program = smallest(program, lambda shorter: _kind(failure(shorter) or "") == kind)
    raise Counterexample(failure(program) or reason)


def failure(program: Program) -> str | None:
    """Why an oracle fails, None where all hold, or where leaving out has left no program."""
    try:
        check(program)
    except Counterexample as counterexample:
        return str(counterexample)
    except NameError:
        return None  # The prelude names what it no longer makes.
    return None


def _kind(reason: str) -> str:
    """The reason without the program's own names and numbers."""
    return re.sub(r"\b[vlwxa]\d+|\d+(\.\d+)?|'.*'|\(b.*\)", "", reason.partition("\n")[0])[:60]
