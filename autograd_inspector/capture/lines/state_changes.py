"""Where the source assigns or drops optimizer state: in a hand-written optimizer's class, and in the program around it.

State is a plain dictionary: nothing shows when somebody writes to it.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType

from autograd_inspector.capture.lines.cells import lines_of
from autograd_inspector.capture.lines.sources import tree_of
from autograd_inspector.capture.lines.stacks import USER, classify
from autograd_inspector.capture.lines.state_lines import Function, StateLine, state_lines
from autograd_inspector.capture.tape import Tape
from autograd_inspector.model.event import Change

_STATE = re.compile(r"\.state\b")
_SELF = "self"
_MODULE = "<module>"


def codes_of(kind: type) -> tuple[CodeType, ...]:
    """The methods that the user wrote of an optimizer's class."""
    methods = (inspect.unwrap(m) for base in kind.__mro__ for m in vars(base).values() if isinstance(m, FunctionType))
    return tuple(m.__code__ for m in methods if classify(m.__code__.co_filename) == USER)


def state_changes(tape: Tape) -> Iterator[Change]:
    """The lines of the classes of the capture's optimizers, then those of the functions that it saw run."""
    if not tape.optimizers:
        return
    files: dict[str, dict[tuple[str, int], Function]] = {}
    own: set[CodeType] = set()
    for record in tape.optimizers.values():
        codes = tape.steppers.get((record.module, record.type), ())
        own.update(codes)
        for code, found in _lines(codes, files):
            if found.receiver == _SELF:
                yield _change(tape, code, found, record.type, record.id)
    seen = dict.fromkeys(code for chain in tape.stacks.chains for code, _, library in chain if not library)
    for code, found in list(_lines([code for code in seen if code not in own], files)):
        if found.receiver != _SELF:
            yield _change(tape, code, found, found.receiver, -1)


def _change(tape: Tape, code: CodeType, found: StateLine, api: str, optimizer: int) -> Change:
    site = tape.stacks.of_code(code, found.line)
    return Change(len(tape.ops), "state_line", api, site, (), optimizer, (found.what, found.receiver, *found.keys))


def _lines(
    codes: Iterable[CodeType], files: dict[str, dict[tuple[str, int], Function]]
) -> Iterator[tuple[CodeType, StateLine]]:
    """(function, line) of those functions; ``files`` are the ones that were read already."""
    for code in codes:
        filename = code.co_filename
        if filename not in files:
            files[filename] = _functions(filename)
        first = 0 if code.co_name == _MODULE else code.co_firstlineno
        scope = files[filename].get((code.co_name, first))
        for found in state_lines(scope) if scope is not None else ():
            yield code, found


def _functions(filename: str) -> dict[tuple[str, int], Function]:
    """(name, first line) -> definition, and the module itself; {} of a file that never mentions state."""
    tree = tree_of(filename) if any(map(_STATE.search, lines_of(filename))) else None
    if tree is None:
        return {}
    found: dict[tuple[str, int], Function] = {(_MODULE, 0): tree}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found[node.name, min([node.lineno, *(d.lineno for d in node.decorator_list)])] = node
    return found
