"""AG601 where a wrapper overwrites the entries of a queue with those of rank 0."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.sent_buffers import lost_entries
from autograd_inspector.model.finding import Problem


def entries_lost(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that writes entries."""
    for found in lost_entries(analysis):
        name, call = name_of(analysis, found.buffer), found.call
        yield Problem(
            "warning",
            f"this rank writes what it has computed from its own batch into entries of the buffer {name}, and {call.type} "
            f"overwrites the buffer with that of rank 0 (broadcast) before the next forward: the loss, which reads {name}, "
            "never uses what the other ranks have put into it",
            "Write the entries of all ranks into the buffer: gather them first (`dist.all_gather`). Or let each rank keep its own "
            f"buffer: {call.type}(..., broadcast_buffers=False).",
            analysis.places(
                (found.written, "entries written here"), (call, "overwritten here"), (found.read, "read here")
            ),
            (name,),
            ops=(found.written.index,),
        )
