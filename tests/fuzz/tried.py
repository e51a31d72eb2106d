"""What was tried so far."""

from __future__ import annotations

from collections import Counter

from autograd_inspector import Report

from .program import Program
from .running import Run

VERSION_ERROR = "has been modified by an inplace operation"
TRIED: Counter[str] = Counter()


def counted(program: Program, plain: Run, report: Report) -> None:
    """Count a program, its kinds of steps and what became of it."""
    TRIED["programs"] += 1
    TRIED["steps"] += len(program.steps)
    for kind in {step.kind for step in program.steps}:
        TRIED[f"with {kind}"] += 1
    if plain.error is not None:
        kind = "version error" if VERSION_ERROR in plain.error_text else "other error"
        TRIED[f"raised: {kind}"] += 1
    for rule in {f"{f.rule} {f.severity}" for f in report.findings if f.rule in {"AG201", "AG202", "AG203"}}:
        TRIED[rule] += 1


def described(tried: Counter[str]) -> str:
    """What was tried, a line a kind."""
    return "\n".join(f"{count:8,}  {kind}" for kind, count in sorted(tried.items()))
