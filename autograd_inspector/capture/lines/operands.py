"""What the last operand of a running instruction is made of, as the bytecode has it."""

from __future__ import annotations

import dis
from itertools import pairwise
from types import CodeType

from autograd_inspector.capture.lines.bytecode import instructions

_PREPARES = frozenset({"PRECALL", "KW_NAMES"})
"""Stand between the last argument and its call."""
_WRITTEN = frozenset({"LOAD_CONST", "LOAD_SMALL_INT"})
_LATER = frozenset({"SWAP", "UNPACK_SEQUENCE", "COPY", "EXTENDED_ARG", "CACHE"})
"""May stand between two stores of one statement."""
_ENDS = ("RETURN", "POP_TOP")
"""What drops a value, or hands it to the caller."""


class Operand:
    """Of the instruction at ``lasti``: ``x / 2``, ``x.div_(world)``. Empty where it cannot be told."""

    def __init__(self, code: CodeType, lasti: int) -> None:
        self._code = code
        self._end = lasti
        self._parts = tuple(_last_operand(code, lasti)) if lasti >= 0 else ()

    @property
    def written(self) -> bool:
        """Whether it is a constant of the code."""
        return len(self._parts) == 1 and self._parts[0].opname in _WRITTEN

    def contains(self, code: CodeType, lasti: int) -> bool:
        """Whether an instruction of some code computes a part of it; one that calls runs somewhere behind its start."""
        return bool(self._parts) and code == self._code and self._parts[-1].offset <= lasti < self._end

    @property
    def names(self) -> frozenset[str]:
        """The variables and attributes that it reads."""
        loads = [each for each in self._parts if each.opname.startswith("LOAD_")]
        read = {name for each in loads for name in (_names(each)[-1:] if each is self._first else _names(each))}
        return frozenset(read)

    @property
    def _first(self) -> dis.Instruction | None:
        """Where it begins. One that loads two variables at once has loaded the operand before this one as well."""
        return self._parts[-1] if self._parts else None


def _last_operand(code: CodeType, lasti: int) -> list[dis.Instruction]:
    """Backward from the instruction, until one value has been pushed. Jumps are not followed."""
    before = [each for each in instructions(code) if each.offset <= lasti][:-1]
    while before and before[-1].opname in _PREPARES:
        before.pop()
    parts: list[dis.Instruction] = []
    pushed = 0
    while before and pushed < 1:
        part = before.pop()
        if "JUMP" in part.opname:
            return []
        parts.append(part)
        pushed += dis.stack_effect(part.opcode, part.arg if part.opcode >= dis.HAVE_ARGUMENT else None)
    return parts if pushed == 1 or (parts and len(_names(parts[-1])) == pushed) else []


def stored_as(code: CodeType, lasti: int) -> frozenset[str]:
    """The variables or attributes that what an instruction computes is stored into: "world" in ``rank, world = ...``.

    Those as well that the same statement stores into beside it. None where the next statement comes first.
    """
    later = [each for each in instructions(code) if each.offset > lasti and each.opname not in _LATER]
    names: set[str] = set()
    for each, following in pairwise([*later, None]):
        if each is None or each.opname.startswith(_ENDS) or "JUMP" in each.opname:
            break
        if each.opname.startswith("STORE_"):
            names.update(_names(each)[:1] if "LOAD" in each.opname else _names(each))
        elif names and not (following is not None and following.opname == "STORE_ATTR"):
            break
    return frozenset(names)


def returned(code: CodeType, lasti: int, names: frozenset[str]) -> bool:
    """Whether what an instruction computes, which was stored under these names, is what the function returns."""
    for each, following in pairwise(instructions(code)):
        loads = each.opname.startswith("LOAD_") and not names.isdisjoint(_names(each)[-1:])
        if following.opname == "RETURN_VALUE" and (each.offset <= lasti < following.offset or loads):
            return True
    return False


def _names(instruction: dis.Instruction) -> tuple[str, ...]:
    value = instruction.argval
    return tuple(name for name in (value if isinstance(value, tuple) else (value,)) if isinstance(name, str))
