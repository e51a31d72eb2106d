"""What lives outside of a checkpoint and changed between its forward and its recomputation."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.assigned_data import assigns, effective
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.unseen_edits.recomputed_forwards import Forwards, key_of
from autograd_inspector.analysis.unseen_edits.standing import Edits
from autograd_inspector.model.op import Op, Trait, Write
from autograd_inspector.model.torch_errors import TorchError, says


def changed_before_recomputation(
    analysis: Analysis, standing: Edits
) -> Iterator[list[tuple[Op, int, list[tuple[Op, Write]]]]]:
    """(op, what it read, what changed that) of recomputations, those with the same edits together."""
    capture = analysis.capture
    if not any(op.has(Trait.BACKWARD) for op in capture.ops):
        return
    forwards, failed = Forwards(analysis), _failed(analysis)
    by_edit_sites: dict[tuple[int, ...], list[tuple[Op, int, list[tuple[Op, Write]]]]] = {}
    for op in capture.ops:
        if not op.has(Trait.BACKWARD):
            forwards.add(op)
            continue
        if op.index in failed or not _records(analysis, op):
            continue
        for tensor in dict.fromkeys(op.inputs):
            key = key_of(analysis, op), tensor
            before = forwards.last(key, op)
            if before is None or tensor in before.outputs or tensor in _writes(before):
                continue
            edits = _changed(analysis, standing, tensor, before, op, forwards.earlier(key, op))
            if edits:
                by_edit_sites.setdefault(tuple(dict.fromkeys(e.site for e, _ in edits)), []).append((op, tensor, edits))
    yield from by_edit_sites.values()


def _changed(
    analysis: Analysis, standing: Edits, tensor: int, before: Op, op: Op, earlier: Iterator[Op]
) -> list[tuple[Op, Write]]:
    """What changed the tensor since the forward that is recomputed; ``earlier``: the others of that kind."""
    edits = _edits(analysis, standing, tensor, before, op)
    evaluated = before.first_seq == before.last_seq and not before.has(Trait.INNER)
    back = all(assigns(edit) or (evaluated and is_a(edit.name, OpKind.COPIES_INTO)) for edit, _ in edits)
    if edits and back and any(not _edits(analysis, standing, tensor, o, op) for o in earlier):
        return []  # Weights that an evaluation had swapped in were put back: the forward read what is there again.
    return edits


def _edits(analysis: Analysis, standing: Edits, tensor: int, before: Op, op: Op) -> list[tuple[Op, Write]]:
    """What changed the tensor between two ops that read it."""
    record = analysis.capture.tensors[tensor]
    writes = standing.standing(record.storage, tensor, before.index + 1, op.index).certain
    return [
        (edit, write)
        for edit, write in effective(analysis, tensor, writes, op.index)
        if not edit.has(Trait.BACKWARD) and analysis.capture.tensors[write.tensor].overlaps(record)
    ]


def _records(analysis: Analysis, op: Op) -> bool:
    """Whether it ran where autograd records, as recomputation does: a hook's own work (fully_shard gathers) does not."""
    regions = analysis.capture.regions
    return not regions or regions[op.region].kind == "enabled"


def _failed(analysis: Analysis) -> frozenset[int]:
    """The ops of backwards that raised, for what was saved was modified: no gradient came of these."""
    runs = (run for run in analysis.capture.backwards if says(run.error, TorchError.MODIFIED_IN_PLACE))
    return frozenset(index for run in runs for index in range(run.start, run.end))


def _writes(op: Op) -> set[int]:
    return {write.tensor for write in op.writes}
