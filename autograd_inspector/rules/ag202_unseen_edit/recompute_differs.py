"""AG202 where checkpointing notices by itself that the recomputation was another one than the forward."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import where_made
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.torch_errors import TorchError, says

_CHECKPOINT = "torch.utils.checkpoint"


def recomputed_otherwise(analysis: Analysis) -> Iterator[Problem]:
    """The first op of the recomputation that is not the one that the forward ran."""
    for run in analysis.capture.backwards:
        if says(run.error, TorchError.RECOMPUTED_OTHERWISE) and run.nested_in < 0:
            again = _recomputed(analysis, run)
            first = _first_forward(analysis, run, again)
            if first is not None:
                yield _finding(analysis, run, *_parting(analysis, run, first, again))


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


def _finding(analysis: Analysis, run: Backward, before: Op, after: Op) -> Problem:
    one, other = where_made(analysis, before), where_made(analysis, after)
    return Problem(
        "error",
        f"the recomputation differs from the forward: the forward called {one} where the recomputation called {other}"
        if one != other
        else f"the recomputation differs from the forward: {one} returned something else",
        "The checkpointed function must depend only on its arguments and on parameters, not on a counter, cache, mode or autocast that differs in backward.",
        analysis.places((before, "in the forward"), (after, "in the recomputation"), (run, "backward called here")),
        (before.name, after.name),
        ops=(before.index, after.index),
    )
