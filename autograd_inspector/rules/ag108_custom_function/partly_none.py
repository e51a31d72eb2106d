"""AG108: custom autograd.Functions that returned None for an input: what lies behind gets nothing, or nothing that way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.none_returned import missing_edges
from autograd_inspector.model.autograd import Backward, Node
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.graphs import KindsBelow
from autograd_inspector.model.rewrites import ReturnGradient
from autograd_inspector.model.wording import agree, summarize_names

_Gap = tuple[str, frozenset[int]]
"""A Function, and the leaves behind the inputs that it returned None for."""


class PartlyNone:
    """Each such Function once for each line that calls backward: a graph that is kept meets the same nodes each time."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._reported: set[tuple[int, str]] = set()

    def findings(self, run: Backward) -> Iterator[Problem]:
        """What there is to say of one run."""
        analysis = self._analysis
        if not analysis.capture.none_gradients:
            return
        new = [gap for gap in self._below.of(run.graph.roots) if (run.site, gap[0]) not in self._reported]
        behind = {gap: found for gap in new if (found := self._behind(run, gap))[0]}
        place = self._places[run.index]
        for number, gap in self._gaps.items() if behind else ():
            if gap in behind and (run.site, gap[0]) not in self._reported and analysis.run_graphs.has(place, number):
                self._reported.add((run.site, gap[0]))
                leaves, partial = behind[gap]
                yield _finding(analysis, run, analysis.capture.nodes[number], gap[0], leaves, partial=partial)

    def _behind(self, run: Backward, gap: _Gap) -> tuple[list[int], bool]:
        """(the leaves behind it that got nothing, or those that are to learn and got something by other ways; which)."""
        empty_leaves = gap[1] & self._analysis.timeline.empty(run)
        starved = sorted(tensor for tensor in empty_leaves if not _switch(self._analysis, tensor))
        if starved or self._analysis.capture.function_sites.get(gap[0], -1) < 0:
            return starved, False
        return sorted(gap[1] & self._analysis.learning & frozenset(run.reached)), True

    @cached_property
    def _gaps(self) -> dict[int, _Gap]:
        """Node -> what it left out, as the nodes are numbered."""
        capture, gaps = self._analysis.capture, dict[int, _Gap]()
        for node in capture.nodes:
            missing = missing_edges(capture, node)
            if missing:
                starts = [node.edges[number][0] for number in missing if number < len(node.edges)]
                name = capture.ops[node.op].name.removesuffix(".apply")
                gaps[node.index] = name, self._analysis.leaves.of(starts)
        return gaps

    @cached_property
    def _below(self) -> KindsBelow[_Gap]:
        return KindsBelow(self._analysis.capture.nodes, lambda node: self._gaps.get(node.index))

    @cached_property
    def _places(self) -> dict[int, int]:
        return {run.index: place for place, run in enumerate(self._analysis.run_graphs.runs)}


def _switch(analysis: Analysis, tensor: int) -> bool:
    """A dummy input: a bare leaf of one element or none, that is passed only so that autograd records the call."""
    record, capture = analysis.capture.tensors[tensor], analysis.capture
    tiny = all(size <= 1 for size in record.shape)
    bare = record.kind != "parameter" and not record.names and tensor not in capture.optimized
    return tiny and bare and not analysis.timeline.reads_of(tensor).all


def _finding(analysis: Analysis, run: Backward, node: Node, name: str, leaves: list[int], *, partial: bool) -> Problem:
    names = [name_of(analysis, t) for t in leaves]
    op = analysis.capture.ops[node.op]
    inner = analysis.capture.function_sites.get(name, -1)
    missing = analysis.capture.none_places(node.seq)
    effect = (
        f"{agree(names, 'learns', 'learn')} from other parts of the loss, and {agree(names, 'gets', 'get')} no gradient "
        "through this one"
        if partial
        else f"{agree(names, 'gets', 'get')} no gradient"
    )
    return Problem(
        "info" if partial else "warning",
        f"{name}.backward returns None for the input that leads to {summarize_names(names)}, which {effect}",
        f"Return one gradient for each input of {name}.forward, and None only for inputs that need none.",
        analysis.places(
            *((site, "this gradient is None here") for site in deciding_sites(analysis, name, missing)),
            (inner, "backward is defined here"),
            (op, "applied here"),
            (run, "backward called here"),
        ),
        (name, *names),
        ops=(op.index,),
        cures=at_line(analysis, inner, lambda place: ReturnGradient(place, missing)),
    )


def deciding_sites(analysis: Analysis, function: str, gradients: Iterable[int]) -> list[int]:
    """The lines of a Function's backward that decide on these of the gradients that it returns."""
    sites = analysis.capture.gradient_sites.get(function, ())
    return list(dict.fromkeys(sites[number] for number in gradients if number < len(sites) and sites[number] >= 0))
