"""What the loss of a rank is, where ranks reduce gradients."""

from __future__ import annotations

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ranks.exchanges import Exchanges
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op
from autograd_inspector.model.program_events import Communicated


def mean_as_it_is(capture: Capture, run: Backward) -> bool:
    """Whether a backward starts from a mean: the op that made it takes one, and no other scaled what it gave."""
    births = {capture.tensors[root].birth for root in run.roots}
    ops = [capture.ops[birth] for birth in births if birth >= 0]
    return bool(ops) and not run.weights and all(is_mean(op) or divides_by_own_count(capture, op) for op in ops)


def is_mean(op: Op) -> bool:
    """Whether an op takes a mean, or computes a loss that is one."""
    return op.name == "mean" or op.name.endswith("loss") or op.name == "cross_entropy"


def divides_by_own_count(capture: Capture, op: Op) -> bool:
    """Whether an op divides a sum by an integer that this rank has counted, and that no exchange has changed."""
    if not is_a(op.name, OpKind.DIVIDES) or len(op.inputs) != len(("sum", "count")):
        return False
    total, count = op.inputs
    made, exchanged = capture.tensors[total].birth, _exchanged(capture)
    if made < 0 or not (is_mean(capture.ops[made]) or is_a(capture.ops[made].name, OpKind.REDUCES)):
        return False
    while count >= 0 and capture.tensors[count].storage not in exchanged:
        record = capture.tensors[count]
        maker = capture.ops[record.birth] if record.birth >= 0 else None
        if maker is None or record.requires_grad:
            return False
        if "int" in record.dtype:
            return is_a(maker.name, OpKind.REDUCES)
        if not is_a(maker.name, OpKind.CONVERTS | OpKind.CLAMPS | OpKind.VIEWS) or not maker.inputs:
            return False
        count = maker.inputs[0]
    return False


def _exchanged(capture: Capture) -> set[int]:
    """The memory that went through calls between ranks."""
    tensors = (t for event in capture.events_of(Communicated) for t in (*event.tensors, *event.results))
    return {capture.tensors[tensor].storage for tensor in tensors}


def averages_loss(capture: Capture, exchanges: Exchanges, run: Backward) -> Communicated | None:
    """The call that autograd follows, and that makes the loss a mean over the ranks; no Function exchanges anything else."""
    calls = [event for event in exchanges.calls if event.inside and event.name != "barrier"]
    if any(exchanges.elements(tensor) > 1 for event in calls for tensor in event.tensors):
        return None
    ops = _single_numbers_to(capture, exchanges, run) if calls else []
    divided = any(divides_by_ranks(capture, op) for op in ops)
    made = {tensor for op in ops for tensor in op.outputs}
    for event in calls:
        whole = event.at < run.start and event.world == capture.world_size and not made.isdisjoint(event.tensors)
        if whole and (event.op == "avg" or (event.op == "sum" and divided)):
            return event
    return None


def _single_numbers_to(capture: Capture, exchanges: Exchanges, run: Backward) -> list[Op]:
    """The ops that a loss came by when it was one number already; of what a Function made, the Function."""
    makers = {tensor: op for op in capture.ops[: run.start] for tensor in op.outputs}
    todo, ops = list(run.roots), list[Op]()
    while todo:
        tensor = todo.pop()
        op = makers.pop(tensor, None)
        if op is not None and exchanges.elements(tensor) == 1:
            ops.append(op)
            todo += op.inputs
    return ops


def counts_ranks(capture: Capture, op: Op) -> bool:
    """Whether the number that an op was given comes from where the program asked how many ranks there are."""
    return "ranks" in capture.given.get(op.index, {})


def divides_by_ranks(capture: Capture, op: Op) -> bool:
    """Whether an op divides by as much as there are ranks, as a plain number that is not written out there."""
    number, world = capture.given.get(op.index, {}).get("1"), capture.world_size
    by = is_a(op.name, OpKind.DIVIDES) and number == world
    return by or (is_a(op.name, OpKind.MULTIPLIES) and world > 1 and number == 1 / world)
