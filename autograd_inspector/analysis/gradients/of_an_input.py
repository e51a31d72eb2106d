"""Backwards that were run for the gradient of an input, and left others in the parameters, which step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.driven import driven_by
from autograd_inspector.analysis.gradients.sources import Contribution, GradientSources
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step
from autograd_inspector.model.graphs import in_order

_SCALES = OpKind.MULTIPLIES | OpKind.DIVIDES


class Foreign(Struct, frozen=True):
    """The backwards that were run for the gradients of ``inputs``, and the training's ``own`` one, before a step."""

    step: Step
    runs: tuple[Backward, ...]
    own: Contribution
    inputs: tuple[int, ...]
    tensors: tuple[int, ...]
    """The parameters that step with the sum."""
    again: bool
    """The own one goes through the graph of the others once more."""


def foreign_backwards(analysis: Analysis, sources: GradientSources) -> Iterator[Foreign]:
    """The first step for each line whose backward leaves such gradients."""
    reported: set[int] = set()
    for step in analysis.capture.steps:
        foreign = None if step.computed or step.error else _foreign(analysis, sources, step)
        if foreign is not None and foreign.runs[0].site not in reported:
            reported.add(foreign.runs[0].site)
            yield foreign


def _foreign(analysis: Analysis, sources: GradientSources, step: Step) -> Foreign | None:
    summed = [each for each in sources.of(step) if len(each.contributions) > 1]
    if not summed:
        return None
    own = max((each.contributions[-1] for each in summed), key=lambda contribution: contribution.start)
    runs: dict[int, Backward] = {}
    inputs: dict[int, None] = {}
    tensors = []
    for each in summed:
        before = [c for c in each.contributions[:-1] if c.run.site != own.run.site]
        if each.contributions[-1].run.index != own.run.index or not before:
            continue
        for contribution in before:
            if contribution.run.index not in runs:
                read = _inputs(analysis, contribution, own)
                runs |= {contribution.run.index: contribution.run} if read else {}
                inputs |= dict.fromkeys(read)
        if any(contribution.run.index in runs for contribution in before):
            tensors.append(each.tensor)
    again = bool(tensors) and all(_goes_through(analysis, own.run, run) for run in runs.values())
    if not tensors or not (again or inputs.keys().isdisjoint(own.run.reached)):
        return None
    foreign = Foreign(step, tuple(runs[index] for index in sorted(runs)), own, tuple(inputs), tuple(tensors), again)
    if again and not _made_the_input(analysis, foreign):
        return None
    return foreign if _made_the_input(analysis, foreign) or _in_other_mode(analysis, foreign) else None


def _inputs(analysis: Analysis, contribution: Contribution, own: Contribution) -> list[int]:
    """The leaves without an optimizer whose gradient of that backward the program read."""
    optimized = analysis.capture.optimized
    leaves = (t for t in contribution.run.reached if t not in optimized)
    following = analysis.timeline.next_run(contribution.run)
    end = own.start if following is None else min(following.start, own.start)
    return [
        leaf
        for leaf in leaves
        if any(
            read.gradient >= 0 and read.clips < 0
            for read in analysis.timeline.reads_of(leaf).within(contribution.end, end)
        )
    ]


def _made_the_input(analysis: Analysis, foreign: Foreign) -> bool:
    """Whether what the training's own loss was computed from was made of those gradients."""
    driven = driven_by(analysis, foreign.inputs, foreign.runs[0].end, foreign.own.start)
    return any(root in driven.tensors for root in foreign.own.run.roots)


def _goes_through(analysis: Analysis, run: Backward, other: Backward) -> bool:
    """Whether a run has nodes of another one's graph that are no leaves."""
    nodes = analysis.capture.nodes
    inner = {node.index for node in analysis.nodes_of(other) if node.edges}
    return any(number in inner for number in in_order(nodes, run.graph.roots))


def _in_other_mode(analysis: Analysis, foreign: Foreign) -> bool:
    """Whether modules were in eval mode for all of those backwards, and in train mode for the training's own."""
    return modes_differ(analysis, foreign.runs, foreign.own.run)


def modes_differ(analysis: Analysis, runs: Sequence[Backward], training: Backward) -> bool:
    """Whether modules were in eval mode for those backwards, and in train mode for another one."""
    others = [_modes(analysis, run) for run in runs]
    modes = _modes(analysis, training)
    return any(on and all(mode.get(module) is False for mode in others) for module, on in modes.items())


def _modes(analysis: Analysis, run: Backward) -> dict[tuple[int, str], bool]:
    """Module -> whether it was in train mode when it was called for that run's graph."""
    capture = analysis.capture
    calls = {capture.ops[node.op].call for node in analysis.nodes_of(run) if node.op >= 0}
    modes: dict[tuple[int, str], bool] = {}
    while calls:
        call = calls.pop()
        if call >= 0:
            record = capture.calls[call]
            if (record.root, record.path) not in modes:
                modes[record.root, record.path] = record.training
                calls.add(record.parent)
    return modes


def cannot_be_meant(analysis: Analysis, foreign: Foreign) -> bool:
    """Whether they cannot have been meant for the step: that several are, none of them a share of one mean."""
    sites = [run.site for run in foreign.runs]
    several = any(sites.count(site) > 1 for site in sites)
    full = several and not any(_shared(analysis, run) for run in foreign.runs)
    return full or foreign.again or _in_other_mode(analysis, foreign)


def _shared(analysis: Analysis, run: Backward) -> bool:
    """Whether the loss was multiplied with a plain number, as the shares of a mean are: `loss / steps`."""
    todo = [(root, 0) for root in run.roots]
    while todo:
        tensor, depth = todo.pop()
        made = analysis.flow.birth(tensor)
        if made is None or not is_a(made.name, _SCALES):
            continue
        if len(made.inputs) == 1:
            return True
        todo += [(t, depth + 1) for t in made.inputs] if depth < 2 else []
    return False
