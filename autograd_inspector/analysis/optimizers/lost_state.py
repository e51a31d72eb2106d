"""Optimizer state that does not outlive its step: the next step of the same parameters begins it again."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op, Trait

_KEEPS = OpKind.CLAMPS | OpKind.MULTIPLIES | OpKind.DIVIDES
_FEWEST = 2
"""Of one step it is not known whether the next one finds its state."""


class LostState(Struct, frozen=True):
    """Parameters whose state is a new one in each step that meets a gradient of theirs; ``steps`` are these, of one line.

    ``renewed``: each of them is the only step of an optimizer that was made at the same line as the others.
    """

    steps: tuple[Step, ...]
    tensors: tuple[int, ...]
    renewed: bool


def lost_states(analysis: Analysis) -> Iterator[LostState]:
    """One record for each line that steps."""
    steps_of: dict[int, list[Step]] = {}
    begun: set[tuple[int, int]] = set()
    for step in analysis.capture.steps:
        # An optimizer that holds a parameter twice steps it twice, and that is one step.
        with_gradient = [p for p in step.parameters if p.gradient >= 0] if not step.error else []
        for tensor in dict.fromkeys(p.tensor for p in with_gradient):
            steps_of.setdefault(tensor, []).append(step)
        begun.update((step.op, p.tensor) for p in with_gradient if p.begun)
    found: dict[int, LostState] = {}
    for tensor, steps in steps_of.items():
        always = all((step.op, tensor) in begun for step in steps)
        renewed = len({step.optimizer for step in steps}) > 1
        lost = _renewed(analysis, tensor, steps, begun=always) if renewed else always and len(steps) >= _FEWEST
        if lost and _of_one_line(steps):
            before = found.get(steps[0].site)
            found[steps[0].site] = LostState(tuple(steps), (*(before.tensors if before else ()), tensor), renewed)
    yield from found.values()


def _of_one_line(steps: list[Step]) -> bool:
    """A line search begins and ends within its step."""
    return len({step.site for step in steps}) == 1 and not any(step.computed for step in steps)


def _renewed(analysis: Analysis, tensor: int, steps: list[Step], *, begun: bool) -> bool:
    """Whether the loop makes the optimizer. Who loads the parameter's value again, too, begins from the beginning."""
    capture = analysis.capture
    optimizers = {step.optimizer: capture.placement.optimizers[step.optimizer] for step in steps}
    sites = {optimizer.site for optimizer in optimizers.values()}
    if len(optimizers) < max(len(steps), _FEWEST) or len(sites) > 1 or sites == {-1}:
        return False
    if not begun and not _made_with_state(analysis, tensor, steps[-1].optimizer):
        return False
    storage = capture.tensors[tensor].storage
    return not any(
        not op.has(Trait.STEP) and not _goes_on(analysis, op, storage)
        for before, after in pairwise(steps)
        for op, _ in analysis.writes_to(storage, tensor, before.at + 1, after.at)
    )


def _goes_on(analysis: Analysis, op: Op, storage: int) -> bool:
    """Whether what an op writes is made of the values that were there, and of nothing else: pixels are clamped to [0, 1]."""
    return is_a(op.name, _KEEPS) and all(analysis.capture.tensors[tensor].storage == storage for tensor in op.inputs)


def _made_with_state(analysis: Analysis, tensor: int, optimizer: int) -> bool:
    """Whether an optimizer has state of a parameter that no checkpoint gave it: its constructor did, as Adagrad's."""
    rows = (row for row in analysis.capture.placement.rows_of.get(optimizer, ()) if row.tensor == tensor)
    return any(row.state for row in rows) and not analysis.timeline.loads_of(optimizer).all
