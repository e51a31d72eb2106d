"""Regions under selective activation checkpointing whose cache was used up when backward recomputed them.

Each entry of the cache is handed out once. A region that backward has not recomputed before found the entries of
another one: both had the same pair of contexts.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.torch_errors import TorchError, says

_CHECKPOINT = "torch.utils.checkpoint"


class RecomputedAgain(Struct, frozen=True):
    """``run`` failed at ``op``, which repeats ``forward``; ``before``: the op that had repeated it already, in ``earlier``."""

    run: Backward
    op: Op
    forward: Op
    before: Op | None = None
    earlier: Backward | None = None


def recomputed_again(analysis: Analysis) -> Iterator[RecomputedAgain]:
    """One for each backward that torch ended for it."""
    for run in analysis.capture.backwards:
        if says(run.error, TorchError.REGION_RECOMPUTED_AGAIN) and run.nested_in < 0:
            again = _recomputed(analysis, run)
            forward = _repeated(analysis, again[0], run) if again else None
            if forward is not None:
                before = _same(analysis, again[0], forward.index + 1, again[0].index)
                yield RecomputedAgain(run, again[-1], forward, before, _around(analysis, before))


def _recomputed(analysis: Analysis, run: Backward) -> list[Op]:
    """The ops of the recomputation that failed, the last one."""
    regions, ops = analysis.capture.regions, analysis.capture.ops[run.start :]
    inside = [op for op in ops if op.has(Trait.BACKWARD) and regions[op.region].library == _CHECKPOINT]
    return [op for op in inside if op.region == inside[-1].region]


def _repeated(analysis: Analysis, first: Op, run: Backward) -> Op | None:
    """The op of the forward that read the very same tensors."""
    forward = reversed(analysis.capture.ops[: run.start])
    return next((op for op in forward if not op.has(Trait.BACKWARD) and _alike(op, first)), None)


def _same(analysis: Analysis, first: Op, start: int, end: int) -> Op | None:
    """The recomputation before this one, of the same region."""
    ops = analysis.capture.ops[start:end]
    return next((op for op in ops if op.has(Trait.BACKWARD) and _alike(op, first)), None)


def _around(analysis: Analysis, op: Op | None) -> Backward | None:
    runs = reversed(analysis.capture.backwards)
    return None if op is None else next((run for run in runs if run.start <= op.index and run.nested_in < 0), None)


def _alike(one: Op, other: Op) -> bool:
    return one.name == other.name and one.inputs == other.inputs
