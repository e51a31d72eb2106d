"""Nodes of a backward that passed back nothing but zeros, as far as values were read."""

from __future__ import annotations

from collections.abc import Collection

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.analysis.gradients.decisive_zeros import not_decisive
from autograd_inspector.analysis.gradients.hooked_leaves import zeroed_by_hooks
from autograd_inspector.analysis.gradients.stuck_products import PRODUCTS
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op
from autograd_inspector.model.torch_names import MODULE_HOOK
from autograd_inspector.model.values import SATURATING, Range

_MOST_ZEROS = 32
"""Of a run with more nodes that pass back zeros all are told: for each of them its graph is walked once."""


def fed_with_zeros(analysis: Analysis, op: Op, explained: Collection[int]) -> bool:
    """Whether a product has a factor that comes from an op of which it is told why nothing comes out but zeros."""
    if not explained or not is_a(op.name, PRODUCTS):
        return False
    above = analysis.flow.upstream([(tensor, op.index) for tensor in factors_of(op)])
    hinges = {op.site for op in map(analysis.capture.ops.__getitem__, explained) if is_a(op.name, OpKind.HINGES)}
    return any(made.site in hinges for made, _ in above)


def of_second_derivatives(analysis: Analysis, op: Op, ends: Collection[int]) -> bool:
    """Whether a product has a factor that is a second derivative which is zero everywhere: that is told."""
    made = (analysis.flow.birth(tensor) for tensor in factors_of(op)) if is_a(op.name, PRODUCTS) else ()
    return any(each is not None and each.name == "grad" and each.index in ends for each in made)


def zero_nodes(analysis: Analysis) -> tuple[dict[int, tuple[Op, set[int]]], dict[int, Range]]:
    """(site -> the op that passes back zeros there, and the leaves behind it; the values of what it read)."""
    capture = analysis.capture
    always: dict[int, bool] = {}
    for value in capture.leaf_values:
        always[value.tensor] = always.get(value.tensor, True) and value.zero
    dead = {t for t, zero in always.items() if zero and (not capture.optimized or t in capture.optimized)}
    alive = {t for t, zero in always.items() if not zero}
    spoiled = {v.backward for v in capture.leaf_values if v.nonfinite}
    spoiled |= {run.index for run in capture.backwards if analysis.bad_tensors.intersection(run.roots)}
    cancelled, hooked = _cancelled(analysis), zeroed_by_hooks(analysis)
    leaves_of_op: dict[int, set[int]] = {}
    ranges: dict[int, Range] = {}
    past = _past(analysis)
    for fault in capture.gradient_faults:
        run = capture.backwards[fault.backward]
        node = capture.nodes[fault.node]
        op = capture.op_of(node)
        if fault.kind != "zero" or op is None or run.index in spoiled or op.name.startswith(MODULE_HOOK):
            continue
        behind = analysis.spoiled_below(fault) & dead - cancelled.get(run.index, set())
        behind -= past.get((run.index, fault.node), frozenset())
        if behind and not _by_design(analysis, op, alive | hooked):
            leaves_of_op.setdefault(op.index, set()).update(behind)
            ranges.update((values.tensor, values) for values in fault.ranges)
    places: dict[int, tuple[Op, set[int]]] = {}
    for index, leaves in leaves_of_op.items():
        op = capture.ops[index]
        op_and_leaves = places.setdefault(op.site, (op, set()))
        op_and_leaves[1].update(leaves)
        if op.name in SATURATING:  # What it feeds gets no gradient either, for its input is zero: a consequence.
            places[op.site] = (op, op_and_leaves[1])
    return places, ranges


def _past(analysis: Analysis) -> dict[tuple[int, int], frozenset[int]]:
    """(run, node that passed back zeros) -> the leaves whose gradient is zero for another such node alone."""
    zeros: dict[int, list[int]] = {}
    for fault in analysis.capture.gradient_faults:
        if fault.kind == "zero":
            zeros.setdefault(fault.backward, []).append(fault.node)
    found: dict[tuple[int, int], frozenset[int]] = {}
    for number, nodes in zeros.items():
        if 1 < len(nodes) <= _MOST_ZEROS:
            leaves_of = not_decisive(analysis.capture, analysis.capture.backwards[number], nodes)
            found |= {(number, node): leaves for node, leaves in leaves_of.items()}
    return found


def _cancelled(analysis: Analysis) -> dict[int, set[int]]:
    """Run -> the leaves that it also comes to by nodes of which none passes back zeros: their parts add up to zero."""
    capture = analysis.capture
    stops: dict[int, set[int]] = {}
    for fault in capture.gradient_faults:
        stops.setdefault(fault.backward, set()).add(fault.node)
    found: dict[int, set[int]] = {}
    for number, nodes in stops.items():
        run, met = capture.backwards[number], set(nodes)
        todo = list(run.graph.roots)
        while todo:
            index = todo.pop()
            if index not in met:
                met.add(index)
                node = capture.nodes[index]
                found.setdefault(run.index, set()).update((node.variable,) if node.variable >= 0 else ())
                todo += [child for child, _ in node.edges]
    return found


def _by_design(analysis: Analysis, op: Op, alive: set[int]) -> bool:
    """Whether the zero is one that the next step, or the program on purpose, makes up for.

    A factor that is zero now and has a gradient of its own (LoRA's B) moves with the first step. A term multiplied by
    the number 0 is left out of a loss that others make up.
    """
    tensors = analysis.capture.tensors
    moving = {tensors[t].storage for t in alive if tensors[t].kind == "parameter"} - {-1}
    if any(tensors[t].storage in moving for t in factors_of(op)):  # A transposed one is the parameter's memory too.
        return True
    if is_a(op.name, PRODUCTS) and len(op.inputs) > 1 and _fed_by(analysis, op, alive):
        return True
    return is_a(op.name, OpKind.MULTIPLIES) and len(op.inputs) == 1 and bool(alive)


def _fed_by(analysis: Analysis, op: Op, alive: set[int]) -> bool:
    """Whether one factor is computed from parameters that do learn, all of them: a gate whose last layer began at zero."""
    leaves = Leaves(analysis.capture, analysis.flow)
    above = [set(leaves.of(tensor, op.index)) for tensor in factors_of(op)]
    return any(parameters and parameters <= alive for parameters in above)


def factors_of(op: Op) -> tuple[int, ...]:
    """The inputs that the gradient of another input is multiplied by: a bias is none."""
    if is_a(op.name, OpKind.ADDS_TO_FIRST):
        return op.inputs[1:]
    return op.inputs[:2] if is_a(op.name, OpKind.ADDS_BIAS) else op.inputs


def has_own_weights(analysis: Analysis, op: Op) -> bool:
    """Whether an op multiplies by a parameter itself."""
    return any(analysis.capture.tensors[t].kind == "parameter" for t in factors_of(op))
