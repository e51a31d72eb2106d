"""Hooks on the gradient of a result that never run: they come after backward(), or nothing is computed from the result."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import TensorHook
from autograd_inspector.model.op import Op


class LateHook(Struct, frozen=True):
    """``hook`` came to a tensor after ``run`` had gone through its graph, and freed it."""

    hook: TensorHook
    run: Backward


class UnreadHook(Struct, frozen=True):
    """``hook`` is on what ``made`` computed of the ``parameter``: nobody read that, and ``run`` trained the parameter."""

    hook: TensorHook
    made: Op
    parameter: int
    run: Backward


def late_hooks(analysis: Analysis) -> Iterator[LateHook]:
    """The first one of each line."""
    graphs, told = _Graphs(analysis), set[object]()
    for hook in _on_results(analysis):
        line = line_of(analysis, hook.site)
        run = _last_completed(analysis, hook) if line not in told else None
        if run is None or not graphs.has(run, hook.tensor):
            continue
        later = analysis.capture.backwards[run.index + 1 : run.index + 2]
        if not any(graphs.has(each, hook.tensor) for each in later):
            told.add(line)
            yield LateHook(hook, run)


def _last_completed(analysis: Analysis, hook: TensorHook) -> Backward | None:
    """The last run that had ended by then, where it is a backward() that came to its end and freed its graph."""
    run = analysis.capture.backwards[hook.run] if hook.run >= 0 else None
    return run if run is not None and run.completed and not (run.retain_graph or run.create_graph) else None


class _Graphs:
    """Which ops' nodes are in the graphs of runs: the last few that were asked for are kept."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._ops: dict[int, frozenset[int]] = {}

    def has(self, run: Backward, tensor: int) -> bool:
        """Whether a tensor is in the graph of a run."""
        made = self._analysis.flow.birth(tensor)
        return tensor in run.roots or (made is not None and made.index in self._of(run))

    def _of(self, run: Backward) -> frozenset[int]:
        if run.index not in self._ops:
            while len(self._ops) > 2:
                del self._ops[next(iter(self._ops))]
            self._ops[run.index] = frozenset(node.op for node in self._analysis.nodes_of(run))
        return self._ops[run.index]


def unread_hooks(analysis: Analysis) -> Iterator[UnreadHook]:
    """The first one of each line, where a later backward() gave the parameter a gradient."""
    capture, told = analysis.capture, set[object]()
    roots = {root for run in capture.backwards for root in run.roots}
    for hook in _on_results(analysis):
        line, made = line_of(analysis, hook.site), analysis.flow.birth(hook.tensor)
        leaves = [t for t in made.inputs if t in analysis.learning] if made is not None and made.recorded else []
        if made is None or len(leaves) != 1 or made.call >= 0 or hook.tensor in roots or line in told:
            continue
        read = any(capture.ops[index].recorded for index in capture.readers.get(hook.tensor, ()))
        runs = analysis.timeline.backwards_to(leaves[0]).since(hook.at)
        run = None if read else next((run for run in runs if run.completed and run.index > hook.run), None)
        if run is not None and leaves[0] not in analysis.timeline.empty(run):
            told.add(line)
            yield UnreadHook(hook, made, leaves[0], run)


def _on_results(analysis: Analysis) -> Iterator[TensorHook]:
    """The hooks on tensors that are no leaves, of a program that came to its end."""
    capture = analysis.capture
    for hook in capture.tensor_hooks if not capture.error else ():
        record = capture.tensors[hook.tensor]
        if not hook.older and not hook.post and not record.leaf and record.requires_grad:
            yield hook
