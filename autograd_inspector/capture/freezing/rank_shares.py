"""Which numbers that ops were given are how many ranks there are: by where the program asked for that, not by value."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType

from autograd_inspector.capture.lines.operands import Operand, returned, stored_as
from autograd_inspector.capture.recording.raw_records import OP_SITE
from autograd_inspector.capture.recording.recording import Recording

_Place = tuple[CodeType, int]


def shares_of(world: int) -> set[float]:
    """The numbers by which gradients of so many ranks are averaged."""
    return {float(world), 1 / world} if world > 1 else set()


def divisions_by_ranks(recording: Recording, world: int) -> dict[int, dict[str, float]]:
    """Op -> its numbers, where one of them is ``world``, or one divided by that, and is not written out there.

    "ranks": the program had asked for the number of ranks, and what it got went into that operand.
    """
    shares = shares_of(world)
    given = {op: {"1": float(number)} for op, number in recording.scales.items() if number in shares}
    given |= {
        op: dict(numbers)
        for op, numbers in recording.number_arguments.items()
        if not shares.isdisjoint(number for _, number in numbers)
    }
    asked = [*_answers(recording)] if given else []
    operands = {site: _operand(recording, site) for site in {recording.ops[op][OP_SITE] for op in given}}
    ranks = {site for site, operand in operands.items() if _holds(operand, asked)}
    found: dict[int, dict[str, float]] = {}
    for op, numbers in given.items():
        site = recording.ops[op][OP_SITE]
        if site in ranks:
            found[op] = numbers | {"ranks": float(world)}
        elif not operands[site].written:
            found[op] = numbers
    return found


def _operand(recording: Recording, site: int) -> Operand:
    chain = recording.stacks.chains[site] if site >= 0 else ()
    return Operand(*chain[0][:2]) if chain else Operand(_operand.__code__, -1)


def _answers(recording: Recording) -> Iterator[tuple[_Place, frozenset[str]]]:
    """Each call that got the number of ranks, and where its result was stored; also of a function that returns it."""
    for site in recording.counted_ranks:
        for code, lasti, _ in recording.stacks.chains[site]:
            if lasti < 0:
                break
            names = stored_as(code, lasti)
            yield (code, lasti), names
            if not returned(code, lasti, names):
                break


def _holds(operand: Operand, asked: list[tuple[_Place, frozenset[str]]]) -> bool:
    """Whether an operand has such a call in it, or reads what one was stored in."""
    return any(operand.contains(*place) or not operand.names.isdisjoint(names) for place, names in asked)
