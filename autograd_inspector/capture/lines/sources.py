"""Interned stacks -> locations, with the text of the line and the variable that it assigns."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType

from msgspec.structs import replace

from autograd_inspector.capture.lines.cells import cell_at, is_timed, lines_of, typed_line
from autograd_inspector.capture.lines.namespaces import namespaces
from autograd_inspector.capture.lines.stacks import Stacks
from autograd_inspector.interrupts import is_interrupt
from autograd_inspector.model.location import Location, Site
from autograd_inspector.source.index import Function, Source, Span
from autograd_inspector.source.parsed import is_too_long
from autograd_inspector.source.parts import Parts
from autograd_inspector.source.qualified import Qualified
from autograd_inspector.source.shelf import source_of
from autograd_inspector.source.statements import Statements
from autograd_inspector.source.targets import target_at
from autograd_inspector.source.writing import written

Position = tuple[int | None, int | None, int | None, int | None]
RESUMED = "torch_dynamo_resume_in_"
"""So begin the names of the functions that Dynamo makes of what comes after a break of the graph."""
_ROOM = 4096
_MOST_LINES = 20
_MOST_PARTS = 500
_POSITIONS: dict[int, tuple[CodeType, list[Position]]] = {}
"""id -> the code itself, so that its id stays its own, and the places of its instructions."""


def resolve(stacks: Stacks) -> tuple[Site, ...]:
    """All stacks of a capture as sites; a frame that many of them share is looked up once."""
    locations: dict[tuple[int, int, bool], Location] = {}

    def once(code: CodeType, lasti: int, library: bool) -> Location:  # noqa: FBT001 - a frame as stacks have it
        key = id(code), lasti, library
        location = locations.get(key)
        if location is None:
            location = locations[key] = locate(code, lasti, stacks.names.of(code), library=library)
        return location

    return tuple(
        [
            Site(tuple([once(*frame) for frame in as_written(chain)]), stacks.through.get(site, ""))
            for site, chain in enumerate(stacks.chains)
        ]
    )


def as_written(chain: Iterable[tuple[CodeType, int, bool]]) -> Iterator[tuple[CodeType, int, bool]]:
    """The frames without the earlier parts of functions that Dynamo resumed after a graph break: those call nothing."""
    resumed: tuple[str, str] | None = None
    for frame in chain:
        file, name = frame[0].co_filename, frame[0].co_name
        goes_on = name.startswith(RESUMED)
        function = file, name.removeprefix(RESUMED).rpartition("_at_")[0] if goes_on else name
        if function != resumed:
            yield frame
        resumed = function if goes_on else None


def locate(code: CodeType, lasti: int, names: Mapping[str, str | None] | None = None, *, library: bool) -> Location:
    """One frame as a location, in the lines of the editor's gutter; ``names``: the modules among its global names."""
    location = _explained(compiled(code, lasti, library=library), names)
    cell = cell_at(location.filename)
    if cell is None:
        # A reader looks for the line of `%time` in the cell, not for the code that it compiles.
        return replace(location, library=library or is_timed(location.filename))
    return replace(
        location,
        cell=cell.label,
        lineno=cell.gutter(location.lineno),
        end_lineno=cell.gutter(location.end_lineno),
        block_end=cell.gutter(location.block_end) if location.block_end else 0,
        source=typed_line(cell, location.lineno) or location.source,
    )


def compiled(code: CodeType, lasti: int, *, library: bool) -> Location:
    """One frame in the lines of the compiled text, as :func:`source_at` numbers them.

    ``lasti`` -1 is the function's definition, ``-1 - n`` its line n.
    """
    span = line, end, column, end_column = _span(code, lasti)
    filename = code.co_filename
    lines = lines_of(filename)
    # To name a target a whole file is parsed, which the large ones of libraries do not repay.
    source = None if lasti < 0 or library or column < 0 else source_of(filename, lines)
    target = "" if source is None else target_at(source, span)
    expression = "" if lasti < 0 or span[2] < 0 else _slice(lines, span)
    return Location(
        filename=filename,
        lineno=line,
        function=code.co_qualname if lasti >= -1 or library else _function_at(code, line),
        source=lines[line - 1].strip() if 0 < line <= len(lines) else "",
        end_lineno=end,
        column=column,
        end_column=end_column,
        target=target,
        expression=expression,
        library=library,
    )


def _function_at(code: CodeType, line: int) -> str:
    """The function around a line that was looked up in a file, of which that code may be any."""
    source = source_at(code.co_filename)
    if source is None or source.scope_at(line) is source.definition_at(code.co_firstlineno):
        return code.co_qualname
    return source.index(Qualified).at(line)


def _explained(place: Location, names: Mapping[str, str | None] | None) -> Location:
    """A location with what its file tells of the expression there; the plain one where that fails on what it reads."""
    try:
        return _expression_at(place, names)
    except Exception as failure:
        if is_interrupt(failure):
            raise
        return place


def _expression_at(place: Location, names: Mapping[str, str | None] | None) -> Location:
    source = None if place.library or place.column < 0 else source_at(place.filename)
    if source is None:
        return place
    span = span_at(place)
    node, statements = source.expression_at(span), source.index(Statements)
    return replace(
        place,
        expression=place.expression or _written_out(source, node),
        assigned=statements.assigned(span),
        namespaces=() if node is None else namespaces(source, node, names),
        block_end=statements.block_end(span),
    )


def _written_out(source: Source, node: ast.expr | None) -> str:
    """An expression over several lines, on one; "" where that would be a page."""
    if node is None or (node.end_lineno or 0) - node.lineno > _MOST_LINES:
        return ""
    return written(node) if source.index(Parts).of(node).size <= _MOST_PARTS else ""


def _span(code: CodeType, lasti: int) -> Span:
    if lasti < 0:
        line = code.co_firstlineno if lasti == -1 else -1 - lasti
        return line, line, -1, -1
    start, end, column, end_column = _positions(code)[lasti // 2]
    line = start or code.co_firstlineno
    return line, end or line, -1 if column is None else column, -1 if end_column is None else end_column


def span_at(place: Location) -> Span:
    """Where the expression of a location stands in the compiled text."""
    return place.lineno, place.end_lineno, place.column, place.end_column


def _positions(code: CodeType) -> list[Position]:
    """Of each instruction. Code is known by its id: it compares, and hashes, by its contents without its file."""
    cached = _POSITIONS.get(id(code))
    if cached is None:
        cached = _POSITIONS[id(code)] = code, list(code.co_positions())
        if len(_POSITIONS) > _ROOM:
            del _POSITIONS[next(iter(_POSITIONS))]
    return cached[1]


def line_at(code: CodeType, lasti: int) -> int:
    """The line of an instruction, in the lines of the compiled text."""
    return _span(code, lasti)[0]


def source_at(filename: str) -> Source | None:
    """The index of a source file as it is in the line cache; None when it cannot be had, or is too long to be read."""
    return source_of(filename, lines_of(filename))


def unread(stacks: Stacks) -> Iterator[str]:
    """What to tell of the program's own files that are too long to be parsed."""
    filenames = dict.fromkeys(code.co_filename for chain in stacks.chains for code, _, library in chain if not library)
    for filename in filenames:
        lines = lines_of(filename)
        if is_too_long(lines):
            yield (
                f"{Path(filename).name} has {len(lines):,} lines, too many to parse: its lines are shown, but no "
                "variable names and no places that keep a tensor"
            )


def definition_of(code: CodeType) -> Function | None:
    """The definition that a function was compiled from, None where its source cannot be had."""
    source = source_at(code.co_filename)
    return None if source is None else source.definition_at(code.co_firstlineno)


def _slice(lines: Sequence[str], span: Span) -> str:
    line, end, column, end_column = span
    if end != line or line > len(lines):
        return ""
    return lines[line - 1].encode()[column:end_column].decode(errors="replace")
