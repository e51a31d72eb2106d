"""Where the program gave a tensor another name.

An assignment of one variable to another copies nothing, and torch never hears of it: it is read off the text of the
functions that ran. Whether both names were read, and were meant to be two tensors, is for the ops to tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType

from autograd_inspector.capture.lines.sources import source_at
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.program_events import NamedAgain
from autograd_inspector.source.second_names import SecondNames


def second_names(recording: Recording) -> Iterator[NamedAgain]:
    """One event for each such statement in a function that was on the stack of an op, a backward or a step."""
    for code in dict.fromkeys(code for chain in recording.stacks.chains for code, _, library in chain if not library):
        yield from _in_code(recording, code)


def _in_code(recording: Recording, code: CodeType) -> Iterator[NamedAgain]:
    source = source_at(code.co_filename)
    if source is None:
        return
    scope = source.tree if code.co_name == "<module>" else source.definition_at(code.co_firstlineno)
    for found in source.index(SecondNames).within(scope) if scope is not None else ():
        site = recording.stacks.of_code(code, found.line)
        yield NamedAgain(len(recording.ops), site, found.name, found.of, found.alone, found.chosen)
