"""Tensors of the program's own whose ``.grad`` it reads after backward(), and does not find."""

from __future__ import annotations

from autograd_inspector.model.capture import Capture
from autograd_inspector.model.event import GradRead


def looked_for(capture: Capture) -> dict[int, GradRead]:
    """Leaf -> the last of its reads, all of which got None after a backward.

    Of a model's parameters some may have no gradient: who goes through all of them asks for none in particular. A tensor
    that the program itself let require grad was to get one, unless all that is asked is whether it has none.
    """
    ends = [run.end for run in capture.completed_runs]
    first = min(ends, default=len(capture.ops) + 1)
    found: dict[int, GradRead] = {}
    met: set[int] = set()
    for read in capture.grad_reads:
        record = capture.tensors[read.tensor]
        if read.gradient >= 0 or record.kind == "parameter" or not read.leaf or not record.requires_grad:
            met.add(read.tensor)
        elif read.at >= first and read.clips < 0 and not read.asks:
            found[read.tensor] = read
    return {tensor: read for tensor, read in found.items() if tensor not in met}
