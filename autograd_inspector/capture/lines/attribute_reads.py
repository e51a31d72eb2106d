"""Whose attribute of a name a function reads or writes, as its bytecode has it."""

from __future__ import annotations

from types import CodeType

from autograd_inspector.capture.lines.bytecode import instructions

Path = tuple[str, ...]
"""A variable, and the attributes on the way: ("self", "optimizer")."""

_FAST = "LOAD_FAST"
_VARIABLE = {"LOAD_NAME", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"}
_BETWEEN = {"CACHE", "EXTENDED_ARG", "NOP"}


def owners(code: CodeType, attribute: str) -> tuple[Path, ...]:
    """The variables, and attributes of variables, of which it mentions that attribute, each once."""
    if attribute not in code.co_names:
        return ()
    paths: dict[Path, None] = {}
    path: Path = ()
    for instruction in instructions(code):
        name, value = instruction.opname, instruction.argval
        if name in _BETWEEN:
            continue
        if _FAST in name or name in _VARIABLE:
            # One instruction may load two variables: the second lies on top.
            path = (value[-1] if isinstance(value, tuple) else value,)
            continue
        if path and value == attribute and name.endswith("_ATTR"):
            paths[path] = None
        path = (*path, value) if path and name == "LOAD_ATTR" else ()
    return tuple(paths)
