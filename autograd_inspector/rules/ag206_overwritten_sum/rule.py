"""AG206: sums of which one term is kept, for each place or at all."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import calls_of
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.remedy import AddUp
from autograd_inspector.rules.ag206_overwritten_sum.replaced import replaced

_OPERANDS = 3
_SUMS = OpKind.ADDS | OpKind.SUBTRACTS


def check(analysis: Analysis) -> Iterator[Problem]:
    """`out[index] += values` with more values than positions: each position keeps one value, not the sum.

    Why it matters
        Indexing reads all old values first and writes all results afterwards, so if several results go to one position,
        only the last is kept. Messages to a node, atoms of a molecule or tokens of a segment are lost, and nothing
        raises. A sum that begins with zeros and is assigned in a loop, not added to, keeps the last term as well.

    Example
        ::

            out = torch.zeros(2, 4)
            segments = torch.tensor([0, 0, 1, 1, 1])
            out[segments] += encoder(torch.ones(5, 4))
            out.pow(2).mean().backward()

    Fix
        ::

            out = torch.zeros(2, 4)
            segments = torch.tensor([0, 0, 1, 1, 1])
            out = out.index_add(0, segments, encoder(torch.ones(5, 4)))
            out.pow(2).mean().backward()

    References
        torch.Tensor.index_put_ ("If accumulate is False, the behavior is undefined if indices contain duplicate
        elements"), torch.Tensor.index_add_.
    """
    told: set[object] = set()
    for op in calls_of(analysis.capture, "__setitem__"):
        line = line_of(analysis, op.site)
        if line not in told and _overwrites(analysis, op):
            told.add(line)
            yield _problem(analysis, op)
    yield from replaced(analysis)


def _overwrites(analysis: Analysis, op: Op) -> bool:
    """Whether sums go back to the places that they were read from, by an index that must have duplicates."""
    if len(op.inputs) != _OPERANDS:
        return False
    target, index, value = op.inputs
    tensors = analysis.capture.tensors
    places = tensors[target].shape[:1]
    if not places or not tensors[index].dtype.startswith(("int", "uint")) or tensors[index].dtype == "uint8":
        return False
    return prod(tensors[index].shape) > places[0] and _read_from(analysis, value, target, index)


def _read_from(analysis: Analysis, value: int, target: int, index: int) -> bool:
    """Whether a value is a sum of what was read from that tensor by that index, in place or not."""
    made = analysis.flow.birth(value)
    if made is not None and is_a(made.name, _SUMS):
        return any(_is_read(analysis.flow.birth(term), target, index) for term in made.inputs)
    return _is_read(made, target, index)


def _is_read(made: Op | None, target: int, index: int) -> bool:
    return made is not None and made.name == "__getitem__" and made.inputs[:2] == (target, index)


def _problem(analysis: Analysis, op: Op) -> Problem:
    target, index, _ = op.inputs
    tensors, name = analysis.capture.tensors, name_of(analysis, target)
    within = analysis.user_frames(op.site, "")[:1]
    given, places = prod(tensors[index].shape), tensors[target].shape[0]
    return Problem(
        "warning",
        f"{name}[...] is given {given:,} sums for {places:,} positions: each position keeps only the last one, and the others are lost",
        f"Accumulate them: `{name}.index_add_(0, index, values)`, or index_put_(..., accumulate=True).",
        analysis.user_frames(op.site, "sums overwritten here"),
        (name, *(place.function for place in within if op.has(Trait.BACKWARD))),
        ops=(op.index,),
        cures=tuple((AddUp(place),) for place in within),
    )
