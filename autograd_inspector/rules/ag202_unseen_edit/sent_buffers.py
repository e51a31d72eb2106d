"""AG202 where a wrapper overwrites a buffer that the backward of an earlier forward still needs."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.sent_buffers import needed_still
from autograd_inspector.model.finding import Problem


def sent_buffers(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that saves such a buffer."""
    for found in needed_still(analysis):
        name, call = name_of(analysis, found.buffer), found.call
        yield Problem(
            "error",
            f"`{found.saver.name}` saved the buffer {name} for backward with the value that this rank had computed, and the next "
            f"call of {call.type} overwrites the buffer in place with that of rank 0 (broadcast_buffers=True) without changing its "
            "version counter: the gradient is computed with the wrong values",
            f"Compute with a copy of the buffer in the forward: `.clone()`. Or pass broadcast_buffers=False to {call.type}, or "
            "put both inputs into one batch and call it once.",
            analysis.places(
                (call, "overwritten here"),
                (found.saver, "saved for backward here"),
                (found.updated, "updated from this rank's batch here"),
                (found.run, "used by this backward"),
            ),
            (name,),
            ops=(found.saver.index,),
        )
