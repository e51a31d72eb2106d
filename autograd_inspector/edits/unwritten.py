"""Why a finding has no edit: what its place, its text, or what is to stand there does not allow."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import PurePath

from autograd_inspector.edits.program import Program
from autograd_inspector.edits.scope import unknown
from autograd_inspector.model.edit import Unedited
from autograd_inspector.model.location import Location
from autograd_inspector.model.remedy import Again, Hoist, Insert, Operand, SetArgument, Substitute
from autograd_inspector.model.remedy_base import Remedy

Programs = Callable[[Location], Program | None]


def without_cure(locations: tuple[Location, ...], programs: Programs) -> Unedited:
    """Why nothing is to be written for a problem at those lines: which change is right is not for the text to say."""
    if not locations:
        return Unedited("no line")
    if all(at.library for at in locations):
        return _in_library(locations[0])
    own = next(at for at in locations if not at.library)
    return not_read(own) if programs(own) is None else Unedited("choice")


def not_read(at: Location) -> Unedited:
    """Why there is no text to change at a place."""
    return _in_library(at) if at.library else Unedited("no source", at.cell or at.filename or "the program")


def _in_library(at: Location) -> Unedited:
    parts = PurePath(at.filename.replace("\\", "/")).parts
    below = [number for number, part in enumerate(parts, 1) if part.endswith("-packages")]
    return Unedited("library", "/".join(parts[below[-1] :] if below else parts[-2:]))


def not_written(program: Program, remedy: Remedy, programs: Programs) -> Unedited:
    """Why the text at a place cannot be changed as a remedy wants it."""
    for at, text in _new_texts(program, remedy):
        there = programs(at)
        statement = there.statement(at) if there is not None else None
        names = unknown(there, statement, text) if there is not None and statement is not None else None
        if names:
            return Unedited("no value", min(names))
    return Unedited("form", remedy.at.place)


def _new_texts(program: Program, remedy: Remedy) -> Iterator[tuple[Location, str]]:
    """What is to be written where, of the remedies that bring a text of their own or take one elsewhere."""
    match remedy:
        case Insert(at=at, text=text):
            yield at, text
        case Operand(at=at, new=text) | Substitute(at=at, new=text) | SetArgument(at=at, value=text):
            yield at, text.replace("{}", "None")
        case Again(at=at, to=to) | Hoist(at=at, to=to):
            one = program.statement(at)
            if isinstance(one, ast.stmt):
                yield to, program.written(one)
