"""What becomes of an attribute that is read: ``p.requires_grad == True`` as a statement, ``p.grad is None``."""

from __future__ import annotations

from itertools import islice
from types import CodeType, FrameType

from autograd_inspector.capture.lines.bytecode import instructions
from autograd_inspector.capture.lines.stacks import USER, classify

_ASSERTED = "@py_assert"
_DROPPED = ("LOAD_CONST", "COMPARE_OP", "POP_TOP")


class Compared:
    """Looks once at each place of the user's code that reads an attribute."""

    def __init__(self) -> None:
        self._places: dict[tuple[int, int], tuple[CodeType, bool | None]] = {}
        """With the code itself, so that its id stays its own."""
        self._asks: dict[tuple[int, int], tuple[CodeType, bool]] = {}
        self._met: set[tuple[int, int, int]] = set()

    def wanted(self, frame: FrameType) -> bool | None:
        """What the statement that reads an attribute here compares it with; None where it is no such statement."""
        key = (id(frame.f_code), frame.f_lasti)
        cached = self._places.get(key)
        if cached is None:
            cached = self._places[key] = (frame.f_code, _compared(frame.f_code, frame.f_lasti))
        return cached[1]

    def asks_whether_none(self, frame: FrameType) -> bool:
        """Whether what is read here is only compared with None."""
        key = (id(frame.f_code), frame.f_lasti)
        cached = self._asks.get(key)
        if cached is None:
            cached = self._asks[key] = (frame.f_code, _asks_whether_none(frame.f_code, frame.f_lasti))
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


def _asks_whether_none(code: CodeType, lasti: int) -> bool:
    """``is None`` jumps at once in a condition, and compares elsewhere; pytest puts the parts of an assertion aside."""
    after = (instruction for instruction in instructions(code) if instruction.offset > lasti)
    following = list(islice(after, 2))
    if following and "JUMP" in following[0].opname and "NONE" in following[0].opname:
        return True
    if following and following[0].opname.startswith("STORE_") and str(following[0].argval).startswith(_ASSERTED):
        return True
    if [instruction.opname for instruction in following] != ["LOAD_CONST", "IS_OP"]:
        return False
    constant = following[0].arg
    return constant is not None and code.co_consts[constant] is None
