"""Layers with running statistics that the program put into eval mode one by one, and that train() put back unused.

They may learn: in eval mode, the statistics of a batch norm stay what they are while its weight is trained.
"""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.places import Place
from autograd_inspector.analysis.modules.train_mode_effects import InTrainMode, Parts, differs, each_once
from autograd_inspector.analysis.op_kinds import OpKind
from autograd_inspector.analysis.ops_of import ops_of
from autograd_inspector.model.op import ModuleCall, Op
from autograd_inspector.model.program_events import ModeSwitched


def undone_statistics(analysis: Analysis) -> Iterator[InTrainMode]:
    """One record for each pair of lines: the one that puts the layers into eval mode, and the one that takes it back."""
    capture = analysis.capture
    if not capture.steps or not any(not switch.training for switch in capture.events_of(ModeSwitched)):
        return
    parts = Parts(analysis)
    told = {op.index for ops in parts.affected().values() for op in ops}
    pairs: dict[Place, tuple[ModeSwitched, ModeSwitched] | None] = {}
    found: dict[tuple[int, int], list[tuple[Op, ModuleCall, ModeSwitched, ModeSwitched]]] = {}
    for op in ops_of(capture, OpKind.KEEPS_STATISTICS):
        if op.call < 0 or op.index in told or not differs(capture, op):
            continue
        call = capture.calls[op.call]
        place = call.root, call.path
        if place not in pairs:
            pairs[place] = parts.undone_eval(place, call)
            pair = pairs[place]
            if pair is not None and parts.singled_out(place, pair[0]):
                found.setdefault((pair[0].site, pair[1].site), []).append((op, call, *pair))
    for each in found.values():
        op, call, switch, undone = each[0]
        yield InTrainMode(call, op, (), each_once(call for _, call, *_ in each), switch, undone)
