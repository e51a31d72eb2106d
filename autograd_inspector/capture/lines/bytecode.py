"""The instructions of a function."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType

_KEEPS = frozenset({"STORE_SUBSCR", "STORE_ATTR"})


def instructions(code: CodeType) -> Iterator[dis.Instruction]:
    """Those of a code, in which all constants but True and False read as None.

    Python writes each constant out, and refuses to where that is an integer of some thousand digits.
    """
    shown = tuple([constant if type(constant) is bool else None for constant in code.co_consts])
    return dis.get_instructions(code.replace(co_consts=shown))


def attribute_lines(code: CodeType, name: str) -> Iterator[int]:
    """The lines of a function that set an attribute of that name."""
    line = code.co_firstlineno
    for instruction in instructions(code):
        positions = instruction.positions
        line = line if positions is None or positions.lineno is None else positions.lineno
        if instruction.opname == "STORE_ATTR" and instruction.argval == name:
            yield line


def entry_lines(code: CodeType) -> Iterator[int]:
    """The lines of a function that set an entry, or an attribute: where it keeps what it was given."""
    line = code.co_firstlineno
    for instruction in instructions(code):
        positions = instruction.positions
        line = line if positions is None or positions.lineno is None else positions.lineno
        if instruction.opname in _KEEPS:
            yield line


def value_returns(code: CodeType) -> Iterator[int]:
    """The lines of a function that return what it has computed, and no constant."""
    line, constant = code.co_firstlineno, False
    for instruction in instructions(code):
        positions = instruction.positions
        line = line if positions is None or positions.lineno is None else positions.lineno
        if instruction.opname == "RETURN_VALUE" and not constant:
            yield line
        constant = instruction.opname == "LOAD_CONST"


def dropped_at(code: CodeType, lasti: int) -> bool:
    """Whether what the instruction there returns is dropped, or given to a variable that nothing below reads.

    In a loop what stands above comes again.
    """
    after = [each for each in instructions(code) if each.offset > lasti and each.opname != "CACHE"]
    if not after or after[0].opname == "POP_TOP":
        return bool(after)
    name = after[0].argval
    below = after[1:]
    return after[0].opname == "STORE_FAST" and not any(
        each.opname.startswith("JUMP_BACKWARD") or (each.opname != "STORE_FAST" and _names(each, name))
        for each in below
    )


def last_used_at(code: CodeType, made: int, used: int) -> bool:
    """Whether what the instruction ``made`` returns is given to a variable that nothing reads but up to ``used``."""
    those = [each for each in instructions(code) if each.opname != "CACHE"]
    stored = next((each for each in those if each.offset > made), None)
    if stored is None or stored.opname != "STORE_FAST":
        return False
    reads = (each.offset for each in those if "STORE" not in each.opname and _names(each, stored.argval))
    return all(made < offset <= used for offset in reads)


def _names(instruction: dis.Instruction, name: str) -> bool:
    """Whether it says the name of a variable, by itself or beside another one."""
    value = instruction.argval
    return value == name or (isinstance(value, tuple) and name in value)


def called_with(code: CodeType, lasti: int) -> tuple[int, tuple[str, ...]] | None:
    """(positional arguments, names of the others) of the call that runs at ``lasti``; None where it unpacks some.

    The names are a constant: until Python 3.12 that of the KW_NAMES before the call, since then that of the LOAD_CONST
    before CALL_KW.
    """
    *before, call = [instruction for instruction in instructions(code) if instruction.offset <= lasti]
    near = {instruction.opname: instruction for instruction in before[-2:]}
    if call.opname not in {"CALL", "CALL_KW"} or call.arg is None:
        return None
    constant = before[-1] if call.opname == "CALL_KW" else near.get("KW_NAMES")
    names = () if constant is None or constant.arg is None else code.co_consts[constant.arg]
    return call.arg - len(names), names
