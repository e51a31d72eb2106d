"""Parameters that learn for nobody: others compute with a number that was read before the steps, and no new one is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op, Trait

_FEWEST = 3
"""A number may be read again every other step."""
_ASIDE = Trait.STEP | Trait.BACKWARD


class OutdatedNumber(Struct, frozen=True):
    """``read`` took a number out of torch that depends on the parameter, ``steps`` moved that, ``used`` took the number."""

    tensor: int
    read: Op
    steps: tuple[Step, ...]
    used: Op


def outdated_numbers(analysis: Analysis) -> Iterator[OutdatedNumber]:
    """One record for each parameter whose new values reach no loss but one that teaches itself alone."""
    capture = analysis.capture
    uses: dict[int, list[int]] = {}
    for back in capture.scalar_reentries:
        uses.setdefault(back.export, []).append(back.op)
    told: set[int] = set()
    for export, users in uses.items():
        if len(analysis.timeline.steps.places(export, max(users))) < _FEWEST:
            continue  # Of most numbers, and no walk is needed to know it.
        tensor = _behind(analysis, capture.ops[export])
        steps = [] if tensor in told or tensor < 0 else _steps(analysis, tensor, export, max(users))
        if len(steps) < _FEWEST:
            continue
        used = [capture.ops[user] for user in users if user > steps[_FEWEST - 1].op]
        own = _Reach(analysis, export + 1, memory=capture.tensors[tensor].storage)
        others = _Reach(analysis, min((op.index for op in used), default=0), ops={op.index for op in used})
        if not own.teaches(tensor) and not own.comes_back(uses) and others.teaches(tensor) and not own.ops & others.ops:
            told.add(tensor)
            yield OutdatedNumber(tensor, capture.ops[export], tuple(steps), used[-1])


def _behind(analysis: Analysis, export: Op) -> int:
    """The only leaf that a number was computed from, where that is a parameter that learns; -1: it is none, or several."""
    capture, starts = analysis.capture, [(tensor, export.index) for tensor in export.inputs]
    read = {tensor for op, _ in analysis.flow.upstream(starts) for tensor in op.inputs} | set(export.inputs)
    memories = {capture.tensors[tensor].storage for tensor in read}
    leaves = [t for t in analysis.optimized_trainable if capture.tensors[t].storage in memories]
    return leaves[0] if len(leaves) == 1 and capture.tensors[leaves[0]].storage >= 0 else -1


def _steps(analysis: Analysis, tensor: int, start: int, end: int) -> list[Step]:
    """Those that moved a parameter."""
    return [
        step
        for step in analysis.timeline.steps.within(start, end)
        if any(p.tensor == tensor and p.version_after > p.version_before for p in step.parameters)
    ]


class _Reach:
    """The ops from ``start`` on that read some memory, or are of some ``ops``, with all that is computed from these."""

    def __init__(self, analysis: Analysis, start: int, *, memory: int = -1, ops: Iterable[int] = ()) -> None:
        self._capture = capture = analysis.capture
        self._start = start
        self.ops: set[int] = set(ops)
        self._memories = {memory} - {-1}
        self._tensors: set[int] = set()
        for op in capture.ops[start:]:
            if op.has(_ASIDE) or not (op.index in self.ops or any(map(self._is_in, op.inputs))):
                continue
            self.ops.add(op.index)
            self._tensors.update(op.outputs)
            self._memories.update(write.storage for write in op.writes if write.storage >= 0)

    def _is_in(self, tensor: int) -> bool:
        return tensor in self._tensors or self._capture.tensors[tensor].storage in self._memories

    def teaches(self, tensor: int) -> bool:
        """Whether it reaches what a backward begins with that teaches others than that one, or others' memory."""
        capture = self._capture
        others = {capture.tensors[t].storage for t in capture.optimized if t != tensor}
        return bool(self._memories & others) or any(
            run.start >= self._start and any(map(self._is_in, run.roots)) and set(run.reached) - {tensor}
            for run in capture.completed_runs
        )

    def comes_back(self, exports: Iterable[int]) -> bool:
        """Whether it leaves torch by one of these ops."""
        return not self.ops.isdisjoint(exports)
