"""One tensor put together with itself, as if its entries were kept from different times: each is what it is now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.op_kinds import OpKind
from autograd_inspector.analysis.ops_of import ops_of
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import TensorHeld
from autograd_inspector.source.repeated_operands import repeats_an_entry

_TOGETHER = OpKind.STACKS | OpKind.CONCATENATES


class RepeatedEntries(Struct, frozen=True):
    """``stacked`` got the tensor ``count`` times; one line, that of ``changed``, wrote to it at least as often before.

    ``stored``: the line that added it to what holds the entries, where the program's text has one alone.
    """

    tensor: int
    count: int
    stacked: Op
    changed: Op
    stored: TensorHeld | None


def repeated_entries(analysis: Analysis) -> Iterator[RepeatedEntries]:
    """Each line that puts them together once.

    What is repeated to make a larger tensor is not written to once for each of its copies, by one line, or the call
    itself writes out that it is repeated: then nothing was kept in between.
    """
    told: set[object] = set()
    stored = {(event.at, event.tensor): event for event in analysis.capture.events_of(TensorHeld)}
    since: dict[int, int] = {}
    for op in ops_of(analysis.capture, _TOGETHER):
        if len(op.inputs) < 2 or op.has(Trait.BACKWARD):
            continue
        if any(repeats_an_entry(frame.expression) for frame in analysis.capture.site(op.site)[:1]):
            continue
        for tensor, count in Counter(op.inputs).items():
            if count > 1:
                line = line_of(analysis, op.site)
                changed = (
                    _changed(analysis, tensor, since.get(tensor, 0), op.index, count) if line not in told else None
                )
                since[tensor] = op.index
                if changed is not None:
                    told.add(line)
                    yield RepeatedEntries(tensor, count, op, changed, stored.get((op.index, tensor)))


def _changed(analysis: Analysis, tensor: int, start: int, end: int, count: int) -> Op | None:
    """The last write of the line that wrote to the tensor at least so often."""
    record = analysis.capture.tensors[tensor]
    times: Counter[int] = Counter()
    found = None
    for op, _ in analysis.writes_to(record.storage, tensor, max(start, record.birth + 1), end):
        if op.index != record.birth and not op.has(Trait.STEP):
            times[op.site] += 1
            found = op if times[op.site] >= count else found
    return found
