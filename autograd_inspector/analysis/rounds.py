"""The rounds of a training loop, as far as a report shows them: backwards whose gradients add up are one round."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from msgspec import Struct

from autograd_inspector.analysis.ops_of import writing
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import ZeroGradCalled

_NOT_BY_HAND = Trait.BACKWARD | Trait.STEP


class Rounds(Struct, frozen=True):
    """When each round was over, and which of them each backward that used a graph up belongs to (by its index)."""

    ends: list[int]
    of: dict[int, int]


def consuming(capture: Capture) -> list[Backward]:
    """The backwards that used a graph up."""
    return [r for r in capture.completed_runs if not r.retain_graph and r.nested_in < 0]


def rounds_of(capture: Capture, gradients: Mapping[int, Iterable[int]]) -> Rounds:
    """A round is over at the first sign of it after each backward that used a graph up.

    That is a step, gradients that are cleared, an update by hand, or a backward whose gradients add up with no others.
    ``gradients``: leaf -> the tensors that were seen as its ``.grad``.
    """
    runs = consuming(capture)
    cleared = set(_clearings(capture))
    signs = cleared.union(step.at for step in capture.steps)
    if not capture.steps:
        signs.update(_updates_by_hand(capture, {tensor for run in runs for tensor in run.reached}, gradients))
    # Of gradients that were cleared at the moment of a backward: before it, where the next one adds to what it gave.
    early = {run.start for run, after in pairwise(runs) if after.stale} & cleared
    ends: list[int] = []
    of: dict[int, int] = {}
    over, early_sign = True, -1
    moments: list[tuple[int, Backward | None]] = [*((run.end, run) for run in runs), *((at, None) for at in signs)]
    for at, run in sorted(moments, key=lambda pair: (pair[0], pair[1] is None)):
        if run is not None:
            if not over and (run.start in early or _alone(capture, run)):
                ends.append(run.start)
            of[run.index] = len(ends)
            over, early_sign = False, run.start if run.start in early else -1
        elif at != early_sign:
            ends += [] if over else [at]
            over = True
    return Rounds(ends, of)


def _alone(capture: Capture, run: Backward) -> bool:
    """Whether its gradients add up with no others, and will not wait for others either, as an optimizer lets them."""
    return bool(run.reached) and not run.stale and capture.optimized.isdisjoint(run.reached)


def _clearings(capture: Capture) -> Iterator[int]:
    yield from (call.at for call in capture.events_of(ZeroGradCalled))
    yield from (write.at for write in capture.grad_writes if write.gradient < 0)


def _updates_by_hand(capture: Capture, leaves: Iterable[int], gradients: Mapping[int, Iterable[int]]) -> Iterator[int]:
    """Writes to the memory of leaves that have a gradient, or to that of the gradient."""
    leaves_and_gradients = [*leaves, *(gradient for leaf in leaves for gradient in gradients.get(leaf, ()))]
    storages = {capture.tensors[tensor].storage for tensor in leaves_and_gradients} - {-1}
    for op in writing(capture):
        if not op.has(_NOT_BY_HAND) and any(write.storage in storages for write in op.writes):
            yield op.index
