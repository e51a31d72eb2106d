"""Parameters that get gradients but sit in no optimizer, and parameters of an optimizer that no model has any more."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable

from msgspec import Struct

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.parameters.loss_ancestors import leading
from autograd_inspector.analysis.parameters.probed_copies import asks_for_input
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait, Write
from autograd_inspector.model.placement_rows import OptimizerRecord

WritesTo = Callable[[int, int, int, int], Iterable[tuple[Op, Write]]]


_CONVERSIONS = 8
"""Calls that one statement may make of a tensor to convert it."""
_CONVERTING = OpKind.DETACHES | OpKind.REWRAPS | OpKind.COPIES | OpKind.CONVERTS


class Unoptimized(Struct, frozen=True):
    """Parameters that get gradients but are in no optimizer, and those of an optimizer that get none any more."""

    optimizer: OptimizerRecord
    parameters: tuple[int, ...]
    orphans: tuple[int, ...]


def unoptimized_of(
    capture: Capture, writes_to: WritesTo, flow: DataFlow, stood_in: Collection[int] = ()
) -> Unoptimized | None:
    """What the last step of the capture left out, None when it left nothing out.

    Of an earlier one, by another optimizer, only what took the place of a parameter that this optimizer still holds. Of an
    optimizer and a model that were only looked at: what either has and the other has not. ``stood_in``: leaves that
    learn in the place of parameters.
    """
    if not capture.steps:
        return _unpaired(capture) if not capture.ops else None
    last_steps = {step.optimizer: step for step in capture.steps}
    last = capture.steps[-1].optimizer
    found = _left_out(capture, last, writes_to, flow, stood_in)
    if found is not None:
        return found
    for number, step in last_steps.items():
        if number != last and any(p.gradient < 0 for p in step.parameters):
            found = _left_out(capture, number, writes_to, flow, stood_in)
            if found is not None and found.orphans:
                return found
    return None


def _left_out(
    capture: Capture, number: int, writes_to: WritesTo, flow: DataFlow, stood_in: Collection[int]
) -> Unoptimized | None:
    """What the last step of an optimizer left out."""
    optimizer = capture.placement.optimizers[number]
    held = set(capture.optimized)
    start = _window(capture, optimizer.id)
    reached = _reached(capture, start)
    trainable = {t for t in optimizer.held if capture.tensors[t].requires_grad}
    missed = trainable - reached
    orphans = tuple(t for t in sorted(missed - capture.unsettled(missed)) if not _owned(capture, t, start))
    if orphans:  # What the loss was computed from, cut off or not, is the program's still.
        runs = [run for run in capture.completed_runs if run.start > start]
        led = leading(capture, flow, runs, start)
        orphans = tuple(t for t in orphans if t not in led)
    memory = memory_of(capture, held)
    left_out = [
        t
        for t in sorted(reached - held)
        if capture.tensors[t].storage not in memory  # A part of one flat parameter moves with it.
        and (t in stood_in or _counts(capture, t, orphans, flow))
        and not _updated_by_hand(capture, t, memory, writes_to, flow)
    ]
    handed = _handed_over(capture, held, flow) | _given_up(capture, held)
    left_out = [t for t in left_out if t not in handed]
    if left_out and not orphans and asks_for_input(capture, left_out):
        return None
    return Unoptimized(optimizer, tuple(left_out), orphans) if left_out else None


def _given_up(capture: Capture, held: set[int]) -> set[int]:
    """Parameters that were stepped once, that the program took out of the groups, and that the last backward misses.

    Others have taken their place: points are added to a cloud, tokens to a table.
    """
    last = next((run for run in reversed(capture.backwards) if run.api == "backward"), None)
    stepped = {p.tensor for step in capture.steps for p in step.parameters}
    return stepped - held - set(last.reached if last is not None else ())


def _handed_over(capture: Capture, held: set[int], flow: DataFlow) -> set[int]:
    """Parameters whose gradient the program itself puts into the .grad of one that is stepped."""
    sources: set[int] = set()
    for write in capture.grad_writes:
        if write.tensor in held and write.gradient >= 0:
            sources.add(write.gradient)
            # A ``.grad`` that was made once may be filled in each step.
            # A number that was computed of all gradients, an angle or a norm, hands none of them on to an array.
            starts, single = [(write.gradient, len(capture.ops))], not _is_array(capture, write.tensor)
            above = (
                flow.upstream(starts)
                if single
                else flow.upstream(starts, lambda op, made: _hands_on(capture, op, made))
            )
            sources.update(read for op, made in above if single or _hands_on(capture, op, made) for read in op.inputs)
    if not sources:
        return set()
    memory = memory_of(capture, sources)
    return {read.tensor for read in capture.grad_reads if read.gradient in sources} | {
        # A ``.grad`` that is a part of a bucket is handed on with the bucket.
        write.tensor
        for write in capture.grad_writes
        if write.gradient >= 0 and write.tensor not in held and capture.tensors[write.gradient].storage in memory
    }


def _hands_on(capture: Capture, op: Op, made: int) -> bool:
    """Whether an op passes on all that it read: an array, or the one element of a gradient that has no more."""
    return _is_array(capture, made) or is_a(op.name, OpKind.VIEWS | OpKind.DETACHES | OpKind.COPIES | OpKind.CONVERTS)


def _is_array(capture: Capture, tensor: int) -> bool:
    return math.prod(capture.tensors[tensor].shape) > 1


def _unpaired(capture: Capture) -> Unoptimized | None:
    if not capture.placement.optimizers or not capture.owners:
        return None
    optimizer = capture.placement.optimizers[-1]
    held = set(optimizer.held)
    left_out = [t for t in sorted(capture.owners) if t not in held and capture.tensors[t].requires_grad]
    orphans = [t for t in sorted(held) if t not in capture.owners]
    return Unoptimized(optimizer, tuple(left_out), tuple(orphans)) if left_out else None


def _window(capture: Capture, optimizer: int) -> int:
    """The op index of the optimizer's last step but one: what came after it belongs to the last step."""
    times = [step.at for step in capture.steps if step.optimizer == optimizer]
    return times[-2] if len(times) > 1 else -1


def _reached(capture: Capture, start: int) -> set[int]:
    """Leaves that backward gave gradients since then (a closure's backward runs inside its step).

    A hook may have given it, and then adds to it: fully_shard runs backward on gathered parameters, and sets .grad of
    the model's own.
    """
    runs = capture.completed_runs
    reached = {t for run in runs if run.start > start for t in run.reached if t not in run.empty}
    last = {write.tensor: write for write in capture.grad_writes if write.tensor in capture.owners}
    return reached | {
        write.tensor
        for write in last.values()
        if write.gradient >= 0 and any(run.start <= write.at <= run.end for run in runs)
    }


def _owned(capture: Capture, tensor: int, start: int) -> bool:
    """Whether a model that ran since then still has the parameter."""
    root = capture.owners.get(tensor, -1)
    return root >= 0 and any(call.root == root and call.at > start for call in capture.calls)


def _counts(capture: Capture, tensor: int, orphans: tuple[int, ...], flow: DataFlow) -> bool:
    """A module's parameter, a bare one that serves several steps, or a bare leaf that took an orphan's place."""
    record = capture.tensors[tensor]
    if record.kind == "parameter" and (record.names or _serves(capture, tensor)):
        return True
    return any(
        _same_role(capture, tensor, orphan)
        or _converted(capture, tensor, orphan, flow)
        or _made_of(capture, tensor, orphan, flow)
        for orphan in orphans
    )


def _serves(capture: Capture, tensor: int) -> bool:
    """Whether backward reaches a bare ``nn.Parameter`` again and again, and nobody asks for its gradient."""
    runs = [run for run in capture.completed_runs if tensor in run.reached]
    return len(runs) > 1 and not any(read.tensor == tensor for read in capture.grad_reads)


def _same_role(capture: Capture, new: int, old: int) -> bool:
    a, b = capture.tensors[new], capture.tensors[old]
    return a.shape == b.shape and bool(a.variable) and a.variable == b.variable


def _converted(capture: Capture, new: int, old: int, flow: DataFlow) -> bool:
    """Whether a leaf is but the old one converted or copied, under the same name (``m.emb`` for ``self.emb``)."""
    a, b = (capture.tensors[t].variable.rpartition(".")[2] for t in (new, old))
    tensor, made = new, flow.birth(new)
    for _ in range(_CONVERSIONS if a == b != "" else 0):
        if made is None or not is_a(made.name, _CONVERTING) or not made.inputs:
            return False
        tensor = made.inputs[0]
        if tensor == old:
            return True
        made = flow.birth(tensor)
    return False


def _made_of(capture: Capture, new: int, old: int, flow: DataFlow) -> bool:
    """Whether a bare leaf was computed from the values of the old one, in whose place it is used."""
    a, b = capture.tensors[new], capture.tensors[old]
    if a.shape != b.shape or a.names or b.names:
        return False
    return any(old in op.inputs for op, _ in flow.upstream([(new, a.first_use + 1)], lambda *_: True))


def _updated_by_hand(capture: Capture, tensor: int, held: frozenset[int], writes_to: WritesTo, flow: DataFlow) -> bool:
    """Whether the program itself moves the parameter after a backward to it (manual SGD), not as a copy of a trained one.

    What is added to a model in training is initialised, or loaded, after backwards to others.
    """
    storage = capture.tensors[tensor].storage
    first = min((run.end for run in capture.backwards if tensor in run.reached), default=0)
    manual_writes = {
        op.index: op
        for op, write in writes_to(storage, tensor, first, len(capture.ops))
        if not op.has(Trait.STEP | Trait.BACKWARD)
    }
    return bool(manual_writes) and not any(copied_from(capture, op, held, flow) for op in manual_writes.values())


def memory_of(capture: Capture, tensors: Iterable[int]) -> frozenset[int]:
    """The storages of some tensors."""
    return frozenset(capture.tensors[t].storage for t in tensors) - {-1}


def copied_from(capture: Capture, op: Op, sources: frozenset[int], flow: DataFlow) -> bool:
    """Whether values in that memory went into what the op writes, other than by way of a gradient."""
    tensors = capture.tensors
    written_storages = {write.storage for write in op.writes}

    def read(reader: Op) -> bool:
        return any(tensors[t].storage in sources for t in reader.inputs)

    def other(above: Op, tensor: int) -> bool:
        return above.name != "grad" and tensors[tensor].storage not in written_storages

    starts = [(t, op.index) for t in op.inputs if tensors[t].storage not in written_storages]
    return read(op) or any(other(*pair) and read(pair[0]) for pair in flow.upstream(starts, other))


def copies_of(capture: Capture, loose: Unoptimized, writes_to: WritesTo, flow: DataFlow) -> tuple[int, ...]:
    """Those that were copied from trained parameters: by deepcopy or load, or with the same names and class."""
    trained = {t for t in capture.optimized if any(t in run.reached for run in capture.backwards)}
    replacing = {new for replacement in capture.replacements for _, _, new in replacement.replaced}
    if replacing.intersection(loose.parameters):
        return ()  # Made of a trained one's values to take its place.
    memory = memory_of(capture, trained)
    twins = {(path_in_model(capture, t), capture.tensors[t].shape) for t in trained}
    copies = []
    for tensor in loose.parameters:
        record = capture.tensors[tensor]
        starts = [(tensor, record.first_use)] if record.first_use >= 0 else []
        copied = any(t in trained for op, _ in flow.upstream(starts, lambda o, t: True) for t in op.inputs)
        copied = copied or _refreshed(capture, tensor, memory, writes_to, flow)
        if copied or ((path_in_model(capture, tensor), record.shape) in twins and loose.optimizer.site < 0):
            copies.append(tensor)
    return tuple(copies) if len(copies) == len(loose.parameters) else ()


def _refreshed(capture: Capture, tensor: int, trained: frozenset[int], writes_to: WritesTo, flow: DataFlow) -> bool:
    """Whether the program writes values from that memory into it (a periodic load, a moving average)."""
    return any(
        copied_from(capture, op, trained, flow)
        for op, _ in writes_to(capture.tensors[tensor].storage, tensor, 0, len(capture.ops))
        if not op.has(Trait.STEP | Trait.BACKWARD)
    )


def path_in_model(capture: Capture, tensor: int) -> str:
    """A parameter's name within its model."""
    names = capture.tensors[tensor].names
    prefix = f"{capture.models[capture.owners[tensor]]}." if tensor in capture.owners else ""
    return names[0].removeprefix(prefix) if names else ""
