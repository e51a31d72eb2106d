"""Where a recomputation parts from its forward, of which torch has noticed that they differ."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.torch_errors import TorchError, says

_CHECKPOINT = "torch.utils.checkpoint"


def parted_recomputations(analysis: Analysis) -> Iterator[tuple[Backward, Op, Op]]:
    """(run, op of the forward, op of the recomputation) where the two part first."""
    for run in analysis.capture.backwards:
        if says(run.error, TorchError.RECOMPUTED_OTHERWISE) and run.nested_in < 0:
            again = _recomputed(analysis, run)
            first = _first_forward(analysis, run, again)
            if first is not None:
                yield run, *_parting(analysis, run, first, again)


def _recomputed(analysis: Analysis, run: Backward) -> list[Op]:
    """The ops of the last recomputation, without the call by which checkpointing ends it."""
    regions, ops = analysis.capture.regions, analysis.capture.ops[run.start :]
    inside = [op for op in ops if op.has(Trait.BACKWARD) and regions[op.region].library == _CHECKPOINT]
    last = inside[-1].region if inside else -1
    return [op for op in inside if op.region == last and op.outputs]


def _first_forward(analysis: Analysis, run: Backward, again: list[Op]) -> Op | None:
    """The op of the forward that the first recomputed one repeats: it read the very same tensors."""
    forward = analysis.capture.ops[: run.start]
    return next((op for op in reversed(forward) if again and _same_call(op, again[0])), None)


def _same_call(one: Op, other: Op) -> bool:
    return one.name == other.name and one.inputs == other.inputs and not one.has(Trait.BACKWARD)


def _parting(analysis: Analysis, run: Backward, first: Op, again: list[Op]) -> tuple[Op, Op]:
    """(op of the forward, op of the recomputation) where they part; the last two where what they call is the same."""
    forward = [op for op in analysis.capture.ops[first.index : run.start] if op.outputs]
    pairs = list(zip(forward, again, strict=False))
    return next((pair for pair in pairs if _shape(analysis, pair[0]) != _shape(analysis, pair[1])), pairs[-1])


def _shape(analysis: Analysis, op: Op) -> tuple[object, ...]:
    records = [analysis.capture.tensors[tensor] for tensor in op.outputs]
    return (op.name, op.has(Trait.AUTOCAST), *((record.shape, record.dtype, record.device) for record in records))
