"""AG201 where no node that was looked at holds the modified tensor.

A saved-tensor hook holds it, as checkpointing installs one, or a node below the end of the walk.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from autograd_inspector.advice.inplace_fixes import repair
from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.in_place import kept_apart
from autograd_inspector.advice.spelling import assignable
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op, Trait, Write
from autograd_inspector.model.torch_names import SAVES_INPUTS
from autograd_inspector.model.wording import join_names

_ERROR = re.compile(
    r"\[torch\.(?:\w+\.)?\w+ \[(?P<shape>[\d, ]*)\]\].*?is at version (?P<now>\d+); expected version (?P<then>\d+)"
)

_HISTORY = re.compile(r"which is output \d+ of (?P<node>[A-Za-z_]+?)\d*,")


def hidden_saver(analysis: Analysis, run: Backward) -> Iterator[Problem]:
    """Find the tensor by what the error says of it: its shape, and the versions that it had and has."""
    version_error = _ERROR.search(run.error)
    if version_error is None:
        return
    shape = tuple(int(size) for size in version_error["shape"].split(",") if size.strip())
    now, then = int(version_error["now"]), int(version_error["then"])
    history = _HISTORY.search(run.error)
    for op, tensor in _candidates(analysis, run, shape, then, history["node"] if history is not None else ""):
        edits = _edits(analysis, op, tensor, run, then, now)
        if edits:
            yield _finding(analysis, run, op, tensor, edits, now, then)
            return


def _candidates(
    analysis: Analysis, run: Backward, shape: tuple[int, ...], then: int, history: str
) -> list[tuple[Op, int]]:
    """(op, tensor) that may have saved it: custom Functions, then what read it at that version, then what made it.

    First comes what ops read of which a hook holds a saved tensor, then the tensors whose grad_fn has the name that
    the error says. What an op itself modified it has hardly saved as it was before. Before all others, where the walk did
    not come to the end of the graph, come the ops whose records stand in for the rest, the last first: in this order the
    engine comes to them.
    """
    tensors = analysis.capture.tensors
    nodes = analysis.nodes_of(run)
    below = {node.op for node in nodes if node.told_by != "node"} - {-1}
    packing = {node.op for node in nodes if any(saved.status == "packed" for saved in node.saved)}
    read = {tensors[t].storage for op in packing - {-1} for t in analysis.capture.ops[op].inputs}
    ranked = []
    for op in analysis.capture.ops[: run.end]:
        met = [
            *((t, version, False) for t, version in zip(op.inputs, op.versions, strict=False)),
            *((write.tensor, write.after, False) for write in op.writes),
            *((t, 0, True) for t in op.outputs if tensors[t].birth == op.index),
        ]
        for tensor, version, made in met:
            tensor_shape = tensors[tensor].shape
            if version == then and (
                tensor_shape == shape or (op.index in below and math.prod(tensor_shape) == math.prod(shape))
            ):
                named = _grad_fn(analysis, tensor, run.start) == history.lower()
                inside = op.index in packing or tensors[tensor].storage in read
                edits = any(write.tensor == tensor and write.before == then for write in op.writes)
                kind: tuple[bool | int, ...] = (made, op.index not in packing, not named)
                if op.index in below:
                    # What an op saved may be a view that it made for itself: a vector as a matrix of one row.
                    kind = (tensor_shape != shape, not named, _keeps_nothing(op, made=made), -op.index)
                rank = (op.index not in below, edits, not op.has(Trait.FUNCTION), not inside, *kind)
                ranked.append((rank, (op, tensor)))
    return [pair for _, pair in sorted(ranked, key=lambda entry: entry[0])]


def _keeps_nothing(op: Op, *, made: bool) -> bool:
    """Whether the derivative of an op is known to need nothing of what it made, or of what it read."""
    if made:
        return not is_a(op.name, OpKind.SAVES_RESULT)
    return is_a(op.name, OpKind.SAVES_NOTHING | OpKind.SAVES_RESULT | OpKind.VIEWS)


def _grad_fn(analysis: Analysis, tensor: int, before: int) -> str:
    """The name that the tensor's grad_fn most likely has: its last recorded writer's, else its maker's."""
    record = analysis.capture.tensors[tensor]
    writers = [op for op, _ in analysis.writes_to(record.storage, tensor, 0, before) if op.first_seq != op.last_seq]
    makers = [analysis.capture.ops[record.birth]] if record.birth >= 0 and record.requires_grad else []
    likeliest = writers[-1:] or makers
    return likeliest[0].name.replace("_", "") if likeliest else ""


def _edits(analysis: Analysis, saver: Op, tensor: int, run: Backward, then: int, now: int) -> list[tuple[Op, Write]]:
    record = analysis.capture.tensors[tensor]
    writes = [
        (op, write)
        for op, write in analysis.writes_to(record.storage, tensor, saver.index, run.end)
        if then < write.after <= now and analysis.capture.tensors[write.tensor].counter == record.counter
    ]
    return writes if any(write.after == now for _, write in writes) else []


def _finding(
    analysis: Analysis, run: Backward, saver: Op, tensor: int, edits: list[tuple[Op, Write]], now: int, then: int
) -> Problem:
    name = name_of(analysis, tensor)
    ops = [op for op, _ in edits]
    packed = any(saved.status == "packed" for node in analysis.nodes_of(run) for saved in node.saved)
    checkpointed = packed and not (saver.has(Trait.FUNCTION) and saver.name != f"{SAVES_INPUTS}.apply")
    by = "checkpoint(use_reentrant=False), for recomputation," if checkpointed else f"`{saver.name}`"
    spelled = join_names(f"`{op.name}`" for op in ops)
    copy = f"`{name} = {name}.clone()`" if assignable(name, analysis, tensor) else f"`.clone()` {name}"
    return Problem(
        "error",
        f"{name} was saved by {by} at version {then} and then modified in place by {spelled}: it is at version {now}, "
        f"expected version {then}",
        f"Work on a copy inside the checkpointed function: {copy} before `{ops[0].name}`."
        if checkpointed
        else repair(analysis, ops, name),
        analysis.places(
            *((op, "modified here") for op in ops),
            (saver, "made or read before here" if checkpointed else "saved here"),
            (run, "needed here"),
        ),
        (name, *dict.fromkeys(op.name for op in ops)),
        (
            f"{by} kept {name} at version {then}.",
            *(f"`{op.name}` moved it from version {w.before} to {w.after}." for op, w in edits[:12] if len(edits) > 1),
        ),
        tuple(op.index for op in ops[:64]),
        tuple(kept_apart(analysis, ops, run)),
    )
