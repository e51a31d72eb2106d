"""Sums and differences whose gradient cancels: ``(advantages + values) - values``, ``hard - soft + soft``.

Written out as a sum of terms with signs, what has a gradient stands in it as often with a plus as with a minus. The
result depends on it in no way, which autograd does not know: it computes both parts and adds them to zero. Where other
terms are left, as of ``soft + (hard - soft)``, what cancels may be meant to: parts are moved from one sum to another.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.likeness import COMPUTED_UNLIKE, Likeness
from autograd_inspector.analysis.gradients.zero_derivative import behind_flat_ops
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.signed_sums import SUMS, signed_operands
from autograd_inspector.model.autograd import Node
from autograd_inspector.model.op import Op

_MOST = 6
_SUMS = SUMS | OpKind.NEGATES
_RESCALES = OpKind.MULTIPLIES | OpKind.DIVIDES | OpKind.VIEWS
_NOISE = OpKind.DRAWS | OpKind.DRAWS_NOISE
"""Of a sum of more terms nothing is said."""


class Cancelling(Struct, frozen=True):
    """The result of ``op`` is a sum in which each term that has a gradient cancels with another.

    ``terms`` are the tensors that cancel, ``entered`` the ops that took them into the sum, in program order. ``again``:
    what computed one of them as another one had been computed. ``parameters`` get no gradient through it. ``drawn``: what is
    left is noise, so that the sum is of a sample and of what it was drawn from. ``left``: other terms that have a gradient.
    """

    op: Op
    terms: tuple[int, ...]
    entered: tuple[Op, ...]
    again: Op | None
    parameters: tuple[int, ...]
    drawn: bool
    left: tuple[int, ...] = ()


def cancelling(analysis: Analysis) -> Iterator[Cancelling]:
    """Those that a loss was computed with and that lie before something that is meant to learn, each line once.

    What was drawn with its gradient (``mean + std * noise``) is at a given distance from its mean: that cancels by
    right, as in an entropy, and is told where the mean has no other way to the loss. So is what cancels beside other terms.
    """
    found = list(_found(analysis))
    walls = {node for node, each in found if each.drawn or each.left}
    beside = _leaves_beside(analysis, walls)
    told: set[int] = set()
    for node, each in found:
        parameters = each.parameters
        if node in walls:
            parameters = tuple(tensor for tensor in parameters if tensor not in beside)
        if parameters and each.op.site not in told:
            told.add(each.op.site)
            yield replace(each, parameters=parameters)


def _found(analysis: Analysis) -> Iterator[tuple[int, Cancelling]]:
    """(node, what cancels there)."""
    capture = analysis.capture
    # Of the nodes of one op the last one is the one that made its result.
    made_by = {node.op: node for node in sorted(capture.nodes, key=lambda node: node.seq) if node.op >= 0}
    likeness = Likeness(analysis)
    gone: set[int] = set()
    for index in sorted(made_by):
        op = capture.ops[index]
        if (
            not is_a(op.name, SUMS)
            or op.has(COMPUTED_UNLIKE)
            or op.writes
            or len(op.inputs) != 2
            or len(op.outputs) != 1
        ):
            continue
        if not gone.isdisjoint(op.inputs):
            gone.update(op.outputs)  # A consequence.
            continue
        found = _cancelled(analysis, made_by, likeness, op)
        if found is None:
            continue
        parameters = _behind(analysis, made_by, found.terms) & analysis.learning
        parameters -= _behind(analysis, made_by, found.left)
        if parameters:
            if not found.left:
                gone.update(op.outputs)
            yield made_by[index].index, replace(found, parameters=tuple(sorted(parameters)))


def _behind(analysis: Analysis, made_by: dict[int, Node], terms: tuple[int, ...]) -> frozenset[int]:
    """The leaves that the terms were computed with."""
    nodes = [
        made_by[made.index] for made in map(analysis.flow.birth, terms) if made is not None and made.index in made_by
    ]
    return frozenset(terms).union(*(analysis.leaves_below(node) for node in nodes))


def _leaves_beside(analysis: Analysis, walls: set[int]) -> frozenset[int]:
    """The leaves that some backward reaches without going through one of these nodes."""
    nodes, seen = analysis.capture.nodes, set(walls)
    runs = analysis.timeline.backwards.all if walls else ()
    todo = [root for run in runs for root in run.graph.roots]
    leaves: set[int] = set()
    while todo:
        node = nodes[todo.pop()]
        if node.index not in seen:
            seen.add(node.index)
            leaves.add(node.variable)
            todo += [child for child, _ in node.edges if child not in seen]
    return frozenset(leaves)


class _Term(Struct, frozen=True):
    """``tensor`` as it was at ``version``, taken into the sum by ``op``."""

    tensor: int
    version: int
    sign: int
    op: Op


def _cancelled(analysis: Analysis, made_by: dict[int, Node], likeness: Likeness, op: Op) -> Cancelling | None:
    """What cancels in a sum, its parameters not told yet.

    What lies behind a rounding has no gradient, as what was detached has none: in ``x + (round(x) - x)`` x cancels.
    """
    tensors = analysis.capture.tensors
    terms = _terms(analysis, op)
    signs = {term.sign for term in terms or () if tensors[term.tensor].requires_grad}
    if len(signs) < 2:
        return None
    noise = [term for term in terms or () if _noise(analysis, term)]
    learning = [term for term in terms or () if tensors[term.tensor].requires_grad and term not in noise]
    if sum(term.sign for term in learning) != 0:
        learning = [term for term in learning if not _flat(analysis, made_by, term)]
    groups = grouped(learning, lambda term: likeness.number(term.tensor, term.version))
    gone = [each for each in groups.values() if sum(term.sign for term in each) == 0]
    left = [term.tensor for each in groups.values() if each not in gone for term in each]
    if not gone or (left and noise):
        return None
    different = dict.fromkeys(term.tensor for term in learning if term.tensor not in left)
    entered = {term.op.index: term.op for each in gone for term in each}
    twice = [group for group in ({term.tensor for term in each} for each in gone) if len(group) > 1]
    births = [made for group in twice[:1] for tensor in group if (made := analysis.flow.birth(tensor)) is not None]
    again = max(births, key=lambda made: made.index, default=None)
    ways = tuple(entered[at] for at in sorted(entered))
    return Cancelling(op, tuple(different), ways, again, (), bool(noise), tuple(left))


def _flat(analysis: Analysis, made_by: dict[int, Node], term: _Term) -> bool:
    made = analysis.flow.birth(term.tensor)
    node = made_by.get(made.index) if made is not None and not made.writes and not term.version else None
    return node is not None and behind_flat_ops(analysis.capture, node)


def _noise(analysis: Analysis, term: _Term) -> bool:
    """Whether a term is a random draw times factors."""
    rescaled = analysis.flow.upstream([(term.tensor, term.op.index)], lambda op, _: is_a(op.name, _RESCALES))
    return any(is_a(op.name, _NOISE) for op, _ in islice(rescaled, _MOST))


def _terms(analysis: Analysis, op: Op) -> list[_Term] | None:
    """The terms of a sum, those that are sums written out; None: there are too many.

    What was computed without a graph, as a sample is under ``no_grad()``, is a constant: what it is made of has no part in it.
    """
    tensors = analysis.capture.tensors
    terms: list[_Term] = []
    todo = _operands(op, 1)
    while todo:
        term = todo.pop()
        made = analysis.flow.birth(term.tensor)
        if len(terms) + len(todo) > _MOST:
            return None
        constant = not tensors[term.tensor].requires_grad
        if (
            made is None
            or constant
            or made.writes
            or term.version
            or made.has(COMPUTED_UNLIKE)
            or not _whole(analysis, made, op)
        ):
            terms.append(term)
        elif is_a(made.name, _SUMS) and 1 <= len(made.inputs) <= 2:
            todo += _operands(made, term.sign)
        else:
            terms.append(term)
    return terms


def _operands(op: Op, sign: int) -> list[_Term]:
    return [_Term(op.inputs[at], op.versions[at], sign * own, op) for at, own in signed_operands(op)]


def _whole(analysis: Analysis, made: Op, op: Op) -> bool:
    """Whether it has the shape of the sum: what is broadcast is counted several times."""
    tensors = analysis.capture.tensors
    return len(made.outputs) == 1 and tensors[made.outputs[0]].shape == tensors[op.outputs[0]].shape
