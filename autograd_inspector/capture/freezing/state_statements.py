"""Where the source assigns or drops optimizer state: in a hand-written optimizer's class, and in the program around it.

State is a plain dictionary: nothing shows when somebody writes to it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from types import CodeType

from autograd_inspector.capture.lines.cells import lines_of
from autograd_inspector.capture.lines.sources import source_at
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.program_events import StateAssigned, StateRemoved
from autograd_inspector.source.index import Source
from autograd_inspector.source.state_writes import StateLine, StateWrites

_STATE = re.compile(r"\.state\b")
_SELF = "self"
_MODULE = "<module>"


def state_statements(recording: Recording) -> Iterator[StateAssigned | StateRemoved]:
    """The lines of the classes of the capture's optimizers, then those of the functions that it saw run."""
    if not recording.optimizers:
        return
    mentioning: dict[str, bool] = {}
    own_codes: set[int] = set()
    for record in recording.optimizers.values():
        codes = recording.steppers.get((record.module, record.type), ())
        own_codes.update(map(id, codes))
        for code, state_line in _lines(codes, mentioning):
            if state_line.receiver == _SELF:
                yield _statement(recording, code, state_line, record.id)
    # By their ids: code compares by its contents alone, whichever file it is in.
    running = {id(code): code for chain in recording.stacks.chains for code, _, library in chain if not library}
    seen = {id(code): code for each in running.values() for code in _with_inner(each)}
    for code, state_line in list(
        _lines([code for number, code in seen.items() if number not in own_codes], mentioning)
    ):
        owners = recording.state_owners.of(code, state_line.receiver) if state_line.receiver != _SELF else []
        for held in [-1] if owners is None else owners:
            yield _statement(recording, code, state_line, held=held)


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    """A function, and those that are defined in it: one that calls nothing of torch's is on no stack."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)


def _statement(
    recording: Recording, code: CodeType, state_line: StateLine, optimizer: int = -1, held: int = -1
) -> StateAssigned | StateRemoved:
    kind = StateRemoved if state_line.what == "removed" else StateAssigned
    site = recording.stacks.of_code(code, state_line.line)
    return kind(len(recording.ops), site, state_line.receiver, tuple(state_line.keys), optimizer, held)


def _lines(codes: Iterable[CodeType], mentioning: dict[str, bool]) -> Iterator[tuple[CodeType, StateLine]]:
    """(function, line) of those functions; files that were found not to be ``mentioning`` state are not parsed."""
    for code in codes:
        filename = code.co_filename
        if filename not in mentioning:
            mentioning[filename] = any(map(_STATE.search, lines_of(filename)))
        source = source_at(filename) if mentioning[filename] else None
        scope = None if source is None else _scope(source, code)
        for state_line in source.index(StateWrites).of(scope) if source is not None and scope is not None else ():
            yield code, state_line


def _scope(source: Source, code: CodeType) -> ast.AST | None:
    """The definition of a function, the module's own lines, None of a comprehension or lambda."""
    if code.co_name == _MODULE:
        return source.tree
    scope = source.definition_at(code.co_firstlineno)
    return scope if scope is not None and scope.name == code.co_name else None
