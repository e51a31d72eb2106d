"""Steps that are left at the first parameter without a gradient: those behind it do not move, whatever they have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import CodeType

from autograd_inspector.capture.lines.bytecode import instructions
from autograd_inspector.capture.lines.returns import returns
from autograd_inspector.capture.observers.optimizers.own_methods import codes_of
from autograd_inspector.model.event import ParameterStep


def left_behind(facts: Sequence[ParameterStep]) -> tuple[int, ...]:
    """The parameters that have gradients and did not move, where all in front of the first one without one did."""
    gap = next((place for place, fact in enumerate(facts) if fact.gradient < 0), 0)
    behind = [fact for fact in facts[gap:] if fact.gradient >= 0]
    if not gap or not behind or not all(map(_moved, facts[:gap])) or any(map(_moved, behind)):
        return ()
    return tuple(fact.tensor for fact in behind)


def _moved(fact: ParameterStep) -> bool:
    return fact.version_after > fact.version_before


def returns_in_loops(kind: type) -> Iterator[tuple[CodeType, int]]:
    """(code, line) of what the user's own ``step`` of an optimizer's class returns from within a loop."""
    for code in codes_of(kind):
        if code.co_name == "step":
            yield from ((code, line) for line in _returns_in_loops(code))


def _returns_in_loops(code: CodeType) -> Iterator[int]:
    loops = [(each.argval, each.offset) for each in instructions(code) if each.opname.startswith("JUMP_BACKWARD")]
    for each, line in returns(code):
        if any(begin <= each.offset <= end for begin, end in loops):
            yield line
