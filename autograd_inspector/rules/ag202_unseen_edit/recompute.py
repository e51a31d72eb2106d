"""AG202 under checkpointing: recomputation read something else than the forward did."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.names import join_names
from autograd_inspector.advice.spelling import copy_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.assigned_data import assigns, effective
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import dedupe_locations
from autograd_inspector.model.op import Op, Trait, Write
from autograd_inspector.rules.ag202_unseen_edit.standing import Edits

Key = tuple[str, int, str, int]

_MODIFIED = "modified by an inplace operation"


def recompute_edits(analysis: Analysis, standing: Edits) -> Iterator[Problem]:
    """Tensors that live outside the checkpoint and changed between its forward and its recomputation."""
    capture = analysis.capture
    if not any(op.has(Trait.BACKWARD) for op in capture.ops):
        return
    forward: dict[tuple[Key, int], list[Op]] = {}
    recorded = _recorded(analysis)
    told: dict[tuple[int, ...], list[tuple[Op, int, list[tuple[Op, Write]]]]] = {}
    for op in capture.ops:
        if not op.has(Trait.BACKWARD):
            for tensor in op.inputs:
                forward.setdefault((key_of(analysis, op), tensor), []).append(op)
            continue
        if not _counts(analysis, op):
            continue
        for tensor in dict.fromkeys(op.inputs):
            earlier = _recomputed(forward.get((key_of(analysis, op), tensor), []), recorded.get(op.index, frozenset()))
            before = earlier[-1] if earlier else None
            if before is None or tensor in before.outputs or tensor in _writes(before):
                continue
            edits = _changed(analysis, standing, tensor, earlier, op)
            if edits:
                told.setdefault(tuple(dict.fromkeys(e.site for e, _ in edits)), []).append((op, tensor, edits))
    for members in told.values():
        yield _finding(analysis, members)


def _recorded(analysis: Analysis) -> dict[int, frozenset[int]]:
    """Op of a recomputation -> the ops whose saved tensors the backward that ran it had to ask a hook for."""
    found: dict[int, frozenset[int]] = {}
    packed = {n.index: n.op for n in analysis.capture.nodes if any(saved.status == "packed" for saved in n.saved)}
    for run in analysis.capture.backwards if packed else ():
        nodes = analysis.nodes_of(run) if run.end > run.start else ()
        ops = frozenset(packed[node.index] for node in nodes if node.index in packed) - {-1}
        if ops:
            found |= dict.fromkeys(range(run.start, run.end), ops)
    return found


def _recomputed(earlier: list[Op], recorded: frozenset[int]) -> list[Op]:
    """Of the calls of the checkpointed function those that are in the graph; the same function may run in others."""
    own = [op for op in earlier if op.index in recorded]
    return own or [op for op in earlier if op.index <= max(recorded, default=-1)] or earlier


def _changed(analysis: Analysis, standing: Edits, tensor: int, earlier: list[Op], op: Op) -> list[tuple[Op, Write]]:
    """What changed the tensor since the forward that is recomputed."""
    edits = _edits(analysis, standing, tensor, earlier[-1], op)
    evaluated = earlier[-1].first_seq == earlier[-1].last_seq and not earlier[-1].has(Trait.INNER)
    back = all(assigns(edit) or (evaluated and is_a(edit.name, OpKind.COPIES_INTO)) for edit, _ in edits)
    if back and any(not _edits(analysis, standing, tensor, o, op) for o in earlier[:-1]):
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


def _counts(analysis: Analysis, op: Op) -> bool:
    """Whether a gradient came of what the op recomputed."""
    capture = analysis.capture
    if capture.regions and capture.regions[op.region].kind != "enabled":
        return False  # A hook's own work, such as fully_shard gathering parameters again: recomputation records.
    return not any(_MODIFIED in run.error and run.start <= op.index < run.end for run in capture.backwards)


def key_of(analysis: Analysis, op: Op) -> Key:
    """What tells a recomputed op from others: its name and where it was called."""
    frames = analysis.capture.site(op.site)
    inner = frames[0] if frames else None
    return op.name, inner.lineno if inner else -1, inner.filename if inner else "", inner.column if inner else -1


def _writes(op: Op) -> set[int]:
    return {write.tensor for write in op.writes}


def _finding(analysis: Analysis, members: list[tuple[Op, int, list[tuple[Op, Write]]]]) -> Problem:
    op, _, edits = members[0]
    names = list(dict.fromkeys(analysis.display_name(tensor) for _, tensor, _ in members))
    edit = edits[0][0]
    copy = copy_of(analysis, names[0])
    fix = (
        "Call optimizer.step() only after the last backward()."
        if edit.has(Trait.STEP)
        else f"Do not modify {names[0]} between forward and backward: edit {copy}, or edit it afterwards."
    )
    return Problem(
        "error",
        f"{join_names(names)} was modified by `{edit.name}` after the forward; the checkpoint recomputes `{op.name}` in "
        "backward with the new values, so the gradients are silently wrong",
        fix,
        dedupe_locations(
            [
                *analysis.user_frames(edit.site, "modified here"),
                *analysis.user_frames(op.site, "read again in recomputation"),
            ]
        ),
        tuple(names),
        (
            f"The forward ran `{op.name}` inside a checkpoint, which saves its inputs by reference only.",
            f"`{edit.name}` then modified {join_names(names)}.",
            "Backward ran the same code again and read the modified memory; certain, by the order of the calls.",
        ),
        (edit.index,),
    )
