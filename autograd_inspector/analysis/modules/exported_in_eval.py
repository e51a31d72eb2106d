"""Models that were exported in eval mode and are trained: what their graphs do is settled, whatever mode they are in."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ops_of import having
from autograd_inspector.model.op import ModuleCall, Op, Trait
from autograd_inspector.model.program_events import ModeSwitched

_CAPTURED = "GraphModule"
"""The class of what torch.export and torch.fx make of a module."""


class ExportedInEval(Struct, frozen=True):
    """``op`` acts as in evaluation in a ``call`` in train mode, whose parameters are stepped.

    ``switch`` put the module into eval mode from which the graph was captured; None: before the capture.
    """

    op: Op
    call: ModuleCall
    switch: ModeSwitched | None


def exported_in_eval(analysis: Analysis) -> Iterator[ExportedInEval]:
    """One record for each captured model: its first such op that a stepped parameter is trained through."""
    capture = analysis.capture
    told: set[tuple[int, str]] = set()
    for op in having(capture, Trait.EVALUATES):
        call = capture.calls[op.call] if op.call >= 0 else None
        if call is None or op.has(Trait.BACKWARD | Trait.INNER):
            continue
        if call.type != _CAPTURED or not call.training or (call.root, call.path) in told:
            continue
        read = {t for other in capture.ops[call.at :] if other.call == call.id and other.recorded for t in other.inputs}
        if any(step.at > op.index and read & {p.tensor for p in step.parameters} for step in capture.steps):
            told.add((call.root, call.path))
            yield ExportedInEval(op, call, _switch(analysis, read & capture.optimized, call.at))


def _switch(analysis: Analysis, parameters: set[int], before: int) -> ModeSwitched | None:
    """The last switch to eval mode of a module that has one of the parameters."""
    capture = analysis.capture
    names = [name for tensor in parameters for name in capture.tensors[tensor].names]
    for switch in reversed(capture.events_of(ModeSwitched)):
        root = capture.models[switch.model] if switch.model >= 0 else ""
        within = ".".join(filter(None, (root, switch.path)))
        if switch.at <= before and within and any(name.startswith(f"{within}.") for name in names):
            return None if switch.training else switch
    return None
