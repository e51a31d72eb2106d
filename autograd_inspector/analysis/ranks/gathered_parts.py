"""Layers that see a part of a batch or a sequence, which a Function then gathers from all ranks."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import having
from autograd_inspector.analysis.ranks.beginnings import Names, Places
from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import Communicated
from autograd_inspector.model.rank_summary import Done


def gathered_parts(capture: Capture, reductions: Reductions, places: Places, names: Names) -> Iterator[Done]:
    """One for each line, with the parameters that no dimension of such an output belongs to, and that nothing reduces."""
    calls = [c for c in reductions.exchanges.calls if c.inside and not c.op and len(c.tensors) > 1]
    if not calls or capture.history.folded:
        return
    reduced = {tensor for each in reductions.reached for tensor in each.reduced} | reductions.wrapper_of.keys()
    lines: dict[int, list[int]] = {}
    for op in having(capture, Trait.FUNCTION):
        if len(op.outputs) != 1 or not op.inputs:
            continue
        dimension = _grown(capture, op)
        maker = _maker(capture, op.inputs[0])
        if dimension < 0 or maker is None or not _gathers(capture, calls, maker, op):
            continue
        rank = len(capture.tensors[op.inputs[0]].shape)
        for tensor in maker.inputs:
            record = capture.tensors[tensor]
            spans = rank - len(record.shape) <= dimension
            if record.kind == "parameter" and record.requires_grad and not spans and tensor not in reduced:
                lines.setdefault(maker.site, []).append(tensor)
    for site, tensors in lines.items():
        yield Done("", places(site, "sees this rank's part here"), 1, tuple(dict.fromkeys(names(tensors))))


def _grown(capture: Capture, op: Op) -> int:
    """The dimension that all ranks' parts lie in one behind the other of what a Function returned; -1 none."""
    given, made = (capture.tensors[t].shape for t in (op.inputs[0], op.outputs[0]))
    if len(given) != len(made):
        return -1
    grown = [at for at, (before, after) in enumerate(zip(given, made, strict=True)) if before != after]
    whole = len(grown) == 1 and made[grown[0]] == given[grown[0]] * capture.world_size
    return grown[0] if whole else -1


def _maker(capture: Capture, tensor: int) -> Op | None:
    """The op that computed a tensor, or what it is a view of."""
    birth = capture.tensors[tensor].birth
    while birth >= 0 and is_a(capture.ops[birth].name, OpKind.VIEWS) and capture.ops[birth].inputs:
        birth = capture.tensors[capture.ops[birth].inputs[0]].birth
    return capture.ops[birth] if birth >= 0 and capture.ops[birth].recorded else None


def _gathers(capture: Capture, calls: list[Communicated], maker: Op, function: Op) -> bool:
    return any(maker.index < call.at < function.index and call.world == capture.world_size for call in calls)
