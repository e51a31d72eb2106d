"""Makes a counterexample small: a program is a list of steps, so leave out what is not needed."""

from __future__ import annotations

from collections.abc import Callable

from .program import At, Program


def smallest(program: Program, fails: Callable[[Program], bool]) -> Program:
    """The program with as many steps left out as possible, such that it still fails."""
    changed = True
    while changed:
        changed = False
        for at in reversed(places(program)):
            shorter = program.without({at})
            if fails(shorter):
                program, changed = shorter, True
        for line in reversed(program.prelude):
            fewer = Program(tuple(other for other in program.prelude if other != line), program.steps)
            if fails(fewer):
                program, changed = fewer, True
    return program


def places(program: Program) -> list[At]:
    """Every step and every line of a checkpointed function."""
    return [(index, inner) for index, step in enumerate(program.steps) for inner in range(-1, len(step.body))]
