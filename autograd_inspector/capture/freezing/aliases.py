"""Writes through a NumPy array that shares a tensor's memory, read off the source of the function that made it so."""

from __future__ import annotations

from types import CodeType

from autograd_inspector.capture.lines.cells import lines_of
from autograd_inspector.capture.lines.sources import compiled, source_at
from autograd_inspector.capture.recording.raw_records import OP_NAME, OP_SITE, OP_TRAITS
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.event import AliasWrite
from autograd_inspector.model.op import Trait
from autograd_inspector.source.array_writes import ArrayWrites
from autograd_inspector.source.writing import written


def alias_writes(recording: Recording) -> list[AliasWrite]:
    """All such writes to arrays that ``.numpy()`` gave out, or that ``from_numpy`` took in, during the capture."""
    writes = []
    lines_of_place: dict[tuple[int, bool], list[tuple[int, str]]] = {}
    for index, op in recording.ops.items():
        shares = op[OP_NAME] == "from_numpy" or (
            op[OP_TRAITS] & int(Trait.EXPORT) and op[OP_NAME] in {"numpy", "__array__"}
        )
        if shares and op[OP_SITE] < len(recording.stacks.chains):
            place = op[OP_SITE], op[OP_NAME] == "from_numpy"
            if place not in lines_of_place:
                user = next((entry for entry in recording.stacks.chains[op[OP_SITE]] if not entry[2]), None)
                lines = [] if user is None else _writes(user[0], user[1], inward=place[1])
                lines_of_place[place] = [(recording.stacks.of_line(op[OP_SITE], line), how) for line, how in lines]
            writes += [AliasWrite(index, site, how) for site, how in lines_of_place[place]]
    return writes


def _writes(code: CodeType, lasti: int, *, inward: bool) -> list[tuple[int, str]]:
    here = compiled(code, lasti, library=False)
    source = source_at(code.co_filename)
    if source is None or here.column < 0:
        return []
    arrays = source.index(ArrayWrites)
    array = arrays.first_argument(here.lineno, here.column) if inward else here.target
    array_writes = [] if inward else arrays.at(here.lineno, here.column)
    if array.isidentifier():
        array_writes += arrays.below(here.lineno, array)
    lines = lines_of(here.filename)
    return [
        (write.line, (written(write.node) or lines[write.line - 1].strip())[:80])
        for write in sorted(array_writes, key=lambda write: write.order)
    ]
