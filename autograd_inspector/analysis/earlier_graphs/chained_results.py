"""Values that each step computes from those of the one before, with all the graphs behind them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.earlier_graphs.links import LINKS, Line, Link, layer_path
from autograd_inspector.model.op import Op, Trait

_NO_LINK = Trait.BACKWARD | Trait.STEP | Trait.CUT


def chains_of_results(analysis: Analysis) -> Iterator[tuple[Line, dict[str, list[Link]]]]:
    """Lines that, step after step, compute with what they (or a neighbour) computed in the step before, by layer."""
    links_by_line: dict[Line, dict[str, list[Link]]] = {}
    for line, link in _links(analysis):
        links_by_line.setdefault(line, {}).setdefault(layer_path(analysis, link.op), []).append(link)
    for line, layers in links_by_line.items():
        # Each layer that runs the line has a value of its own.
        measured = {layer: _measured(analysis, line, links) for layer, links in layers.items()}
        lasting = {layer: links for layer, links in measured.items() if _lasts(analysis, links)}
        if lasting and not is_consumed(analysis, [link for links in layers.values() for link in links]):
            yield line, lasting


def _links(analysis: Analysis) -> Iterator[tuple[Line, Link]]:
    capture = analysis.capture
    ends = analysis.rounds.ends
    for op in capture.ops if ends else ():
        number = bisect_right(ends, op.index)
        if op.has(_NO_LINK):
            continue
        for tensor in op.inputs:
            record = capture.tensors[tensor]
            made = capture.ops[record.birth] if record.birth >= 0 else None
            if made is None or not _with_history(analysis, tensor) or not op.outputs:
                continue
            line = line_of(analysis, op.site)
            if line is not None and line_of(analysis, made.site) == line and bisect_right(ends, made.index) < number:
                yield line, Link(op, tensor)


def _with_history(analysis: Analysis, tensor: int) -> bool:
    record = analysis.capture.tensors[tensor]
    return (record.requires_grad and not record.leaf) or tensor in analysis.recorded_edits.tensors


def _measured(analysis: Analysis, line: Line, links: list[Link]) -> list[Link]:
    """The links with the lengths of their chains: that a line met another result of its own makes no chain longer."""
    flow = analysis.flow
    lengths: dict[int, int] = {}
    behind: dict[tuple[int, ...], int] = {}
    """What made a tensor -> the links behind it."""
    measured = []
    for link in links:
        made = (link.tensor, *flow.producers(link.tensor, link.op.index))
        if made not in behind:
            met = _upstream(
                analysis,
                [(link.tensor, link.op.index)],
                lambda op: op.index not in lengths and line_of(analysis, op.site) == line,
            )
            behind[made] = max((lengths.get(op.index, 0) for op in met), default=0)
        measured.append(Link(link.op, link.tensor, behind[made] + 1))
        lengths[link.op.index] = max(lengths.get(link.op.index, 0), measured[-1].length)
    return measured


def _upstream(analysis: Analysis, starts: list[tuple[int, int]], through: Callable[[Op], bool]) -> Iterator[Op]:
    """The ops whose graph the tensors hold: a cut holds none, and a leaf has none."""
    for op, tensor in analysis.flow.upstream(starts, lambda o, t: _joins(analysis, o, t) and through(o)):
        if _joins(analysis, op, tensor):
            yield op


def _joins(analysis: Analysis, op: Op, tensor: int) -> bool:
    return _with_history(analysis, tensor) and not op.has(Trait.CUT | Trait.EXPORT)


def _lasts(analysis: Analysis, links: list[Link]) -> bool:
    return max(link.length for link in links) >= LINKS or goes_back(analysis, links[0])


def goes_back(analysis: Analysis, link: Link) -> bool:
    """Whether the chain began in steps that are folded away: of its links there the last few are kept."""
    if not analysis.capture.history.folded:
        return False
    line = line_of(analysis, link.op.site)
    met = _upstream(analysis, [(link.tensor, link.op.index)], lambda op: line_of(analysis, op.site) == line)
    again = {op.index for op in met if (op.name, op.site) == (link.op.name, link.op.site)}
    return len(again) >= LINKS


def is_consumed(analysis: Analysis, links: list[Link]) -> bool:
    """Whether a later backward runs through the chain: then it is computation, not a leak."""
    indices = {link.op.index for link in links}
    first = min(indices)
    starts = [(root, run.start) for run in analysis.timeline.runs.since(first + 1) for root in run.roots]
    # Of all at once: what several of them share is gone through once.
    return any(op.index in indices for op in _upstream(analysis, starts, lambda op: op.index > first))


def steps_held(analysis: Analysis, line: Line, last: Link) -> int:
    """Of how many rounds a backward went through what the chain holds: the last link's own is mostly one of them."""
    ops, rounds = analysis.capture.ops, analysis.rounds
    end = next((end for end in rounds.ends if end > last.op.index), len(ops))
    results, starts = set(last.op.outputs), [(tensor, last.op.index) for tensor in last.op.inputs]
    for op in ops[last.op.index + 1 : end]:
        if line_of(analysis, op.site) == line and not results.isdisjoint(op.inputs):
            results.update(op.outputs)
            starts += [(tensor, op.index) for tensor in op.inputs]
    held = {op.index for op in _upstream(analysis, starts, lambda op: True)}
    met = {
        rounds.of[run.index]
        for run, nodes in analysis.run_graphs
        if run.index in rounds.of and any(node.op in held for node in nodes)
    }
    return len(met) or last.length + 1
