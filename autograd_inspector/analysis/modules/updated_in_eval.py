"""Buffers that a module's forward computes of the data whatever its mode is: those of an evaluation move them too."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.ops_of import writing
from autograd_inspector.model.op import ModuleCall, Op, Trait

_ASIDE = Trait.STEP | Trait.BACKWARD


class UpdatedInEval(Struct, frozen=True):
    """``op`` updated a buffer in ``call``, in eval mode, at a line that updates it in train mode too (``trained``).

    ``buffers``: all of that module that its forward updated so. A later loss was computed with them.
    """

    call: ModuleCall
    buffers: tuple[int, ...]
    op: Op
    trained: Op


def updated_in_eval(analysis: Analysis) -> Iterator[UpdatedInEval]:
    """One for each module: it came back to training with what evaluation made of its buffers.

    The total of a metric enters no loss, and what is computed of weights alone, as a power iteration is, has nothing of
    the data.
    """
    capture = analysis.capture
    buffers = {r.storage: r.id for r in capture.tensors if r.kind == "buffer" and r.storage >= 0 and _numbers(r.dtype)}
    if not buffers or not capture.backwards or all(call.training for call in capture.calls):
        return
    trained: dict[tuple[object, int], Op] = {}
    evaluated: dict[tuple[int, str], list[tuple[Op, int, Op]]] = {}
    for op in writing(capture):
        call = capture.call_of(op)
        if call is None or op.has(_ASIDE):
            continue
        for storage in {write.storage for write in op.writes} & buffers.keys():
            key = line_of(analysis, op.site), storage
            if call.training:
                trained.setdefault(key, op)
            elif key in trained:
                evaluated.setdefault((call.root, call.path), []).append((op, storage, trained[key]))
    for updates in evaluated.values():
        found = next(
            (each for each in updates if _of_data(analysis, *each[:2]) and _enters_loss(analysis, each[0])), None
        )
        if found is not None:
            moved = dict.fromkeys(buffers[storage] for _, storage, _ in updates)
            yield UpdatedInEval(capture.calls[found[0].call], tuple(moved), found[0], found[2])


def _numbers(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


def _of_data(analysis: Analysis, op: Op, storage: int) -> bool:
    """Whether the new values were computed of what the model was given, and not of its own state alone."""
    capture, tensors = analysis.capture, analysis.capture.tensors
    outer = capture.model_call_of(op)
    if outer is None:
        return False
    state = {record.storage for record in tensors if record.of_model}
    starts = [(t, op.index) for t in op.inputs if tensors[t].storage != storage]
    upstream = [each for each, _ in analysis.flow.upstream(starts) if each.index >= outer.at]
    read = {t for t, _ in starts} | {t for each in upstream for t in each.inputs}
    return any(tensors[t].storage not in state and tensors[t].birth < outer.at for t in read)


def _enters_loss(analysis: Analysis, op: Op) -> bool:
    """Whether a backward that follows, of a model in train mode, runs from something that was computed with it."""
    run = next(iter(analysis.timeline.backwards.since(op.index)), None)
    if run is None:
        return False
    upstream = analysis.flow.upstream([(root, run.start) for root in run.roots])
    return any(each.index == op.index for each, _ in upstream)
