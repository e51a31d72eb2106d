"""Statements that compare what they meant to set, and drop the result: ``p.requires_grad == True``."""

from __future__ import annotations

from itertools import islice
from types import CodeType, FrameType

from autograd_inspector.capture.lines.bytecode import instructions
from autograd_inspector.capture.lines.stacks import USER, classify

_DROPPED = ("LOAD_CONST", "COMPARE_OP", "POP_TOP")


class Compared:
    """Looks once at each place of the user's code that reads an attribute."""

    def __init__(self) -> None:
        self._places: dict[tuple[int, int], tuple[CodeType, bool | None]] = {}
        """With the code itself, so that its id stays its own."""
        self._met: set[tuple[int, int, int]] = set()

    def wanted(self, frame: FrameType) -> bool | None:
        """What the statement that reads an attribute here compares it with; None where it is no such statement."""
        key = (id(frame.f_code), frame.f_lasti)
        cached = self._places.get(key)
        if cached is None:
            cached = self._places[key] = (frame.f_code, _compared(frame.f_code, frame.f_lasti))
        return cached[1]

    def first(self, frame: FrameType, tensor: int) -> bool:
        """Whether the statement meets that tensor for the first time."""
        key = (tensor, id(frame.f_code), frame.f_lasti)
        met_before = key in self._met
        self._met.add(key)
        return not met_before


def _compared(code: CodeType, lasti: int) -> bool | None:
    """The constant of ``x.attribute == True`` or ``== False`` where nothing takes the result."""
    if classify(code.co_filename) != USER:
        return None
    after = (instruction for instruction in instructions(code) if instruction.offset > lasti)
    following = list(islice(after, len(_DROPPED)))
    if tuple(instruction.opname for instruction in following) != _DROPPED or following[1].argval != "==":
        return None
    constant = following[0].argval
    return constant if isinstance(constant, bool) else None
