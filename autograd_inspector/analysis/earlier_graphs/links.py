"""The links of a chain of graphs, where autograd recorded them in place; and what a link is."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.model.op import Op

Line = tuple[str, int]

LINKS = 2
"""So many links of a chain in folded steps show that it goes on from step to step."""


class Link(Struct, frozen=True):
    """``op`` computed with ``tensor``, which the same line had computed in a round before that.

    ``length`` counts the links of its chain up to here: each but the first computed with the result of the one before.
    """

    op: Op
    tensor: int
    length: int = 1


def edited(analysis: Analysis) -> dict[Line, list[Link]]:
    """Lines that, step after step, bring a graph into a tensor that has the ones before: scaling alone brings none."""
    links_by_line: dict[Line, list[Link]] = {}
    for tensor, chains in analysis.recorded_edits.chains.items():
        for chain in chains:
            for line, links in _in_place(analysis, tensor, chain):
                links_by_line.setdefault(line, []).extend(links)
    return links_by_line


def became_results(analysis: Analysis) -> dict[Line, list[Link]]:
    """Lines whose edit gave a parameter a graph that it still has at the end: one step shows what more would do."""
    links_by_line: dict[Line, list[Link]] = {}
    for tensor, chains in analysis.recorded_edits.chains.items():
        parameter = analysis.capture.tensors[tensor].kind == "parameter"
        for op in chains[-1] if parameter and analysis.rounds.ends else ():
            line = line_of(analysis, op.site)
            if line is not None and _brings_graph(analysis, op, tensor):
                links_by_line.setdefault(line, []).append(Link(op, tensor))
    return links_by_line


def _in_place(analysis: Analysis, tensor: int, chain: list[Op]) -> Iterator[tuple[Line, list[Link]]]:
    ends, folded = analysis.rounds.ends, analysis.capture.history.folded
    ops_by_line: dict[Line, list[Op]] = {}
    for op in chain if ends else ():
        line = line_of(analysis, op.site)
        if line is not None and _brings_graph(analysis, op, tensor):
            ops_by_line.setdefault(line, []).append(op)
    for line, ops in ops_by_line.items():
        numbers = [bisect_right(ends, op.index) for op in ops]
        rounds = sorted(set(numbers))
        # Of folded steps the last edit is kept, and counts as if it belonged to the first one that is not folded.
        if len(rounds) > LINKS or (folded and len(rounds) == LINKS and len(ops) > LINKS):
            yield (
                line,
                [Link(op, tensor, rounds.index(n)) for op, n in zip(ops, numbers, strict=True) if n > numbers[0]],
            )


def _brings_graph(analysis: Analysis, op: Op, tensor: int) -> bool:
    tensors, base_of = analysis.capture.tensors, analysis.recorded_edits.base_of
    return any(tensors[read].requires_grad and base_of(read) != tensor for read in op.inputs)


def layer_path(analysis: Analysis, op: Op) -> str:
    """The path of the module that ran it."""
    return analysis.capture.calls[op.call].path if op.call >= 0 else ""
