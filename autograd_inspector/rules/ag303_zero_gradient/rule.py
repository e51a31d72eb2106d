"""AG303: gradients that are exactly zero (seen where values were opted in, or certain from the op alone)."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import layer_of, name_of, names_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.advice.remedies.values import (
    from_logits,
    of_one_score,
    sampled_smoothly,
    sloped,
    straight_through,
)
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.handed_over import handed_over
from autograd_inspector.analysis.gradients.zero_derivative import Flat, flattened
from autograd_inspector.analysis.gradients.zero_nodes import (
    factors_of,
    fed_with_zeros,
    has_own_weights,
    of_second_derivatives,
    zero_nodes,
)
from autograd_inspector.analysis.gradients.zero_slopes import zero_slopes
from autograd_inspector.analysis.losses.idle_terms import idle_terms
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import ParameterRegistered
from autograd_inspector.model.remedy import Remedies
from autograd_inspector.model.rewrites import ReturnGradient
from autograd_inspector.model.values import SATURATING, Range
from autograd_inspector.model.wording import agree, join_names, summarize_names
from autograd_inspector.rules.ag303_zero_gradient.both_zero import both_zero
from autograd_inspector.rules.ag303_zero_gradient.cancelled import cancelled
from autograd_inspector.rules.ag303_zero_gradient.cast_to_real import cast_to_real
from autograd_inspector.rules.ag303_zero_gradient.own_target import own_target
from autograd_inspector.rules.ag303_zero_gradient.reasons import reason
from autograd_inspector.rules.ag303_zero_gradient.zero_slope import zero_second_derivatives


def check(analysis: Analysis) -> Iterator[Problem]:
    """The gradient is exactly zero: a dead ReLU, a saturated clamp (seen with `values=True`), sign or round, `x - x`.

    Why it matters
        The parameter has a gradient, the optimizer steps it, and it never changes.

    Example
        ::

            hidden = torch.round(encoder(x))
            head(hidden).pow(2).mean().backward()

    Fix
        ::

            soft = encoder(x)
            hidden = soft + (torch.round(soft) - soft).detach()
            head(hidden).pow(2).mean().backward()

    References
        "Gradients for non-differentiable functions" in the autograd notes of the PyTorch documentation.
    """
    places, ranges = zero_nodes(analysis)
    # These are zero by definition: no value needs to be read.
    flat = list(flattened(analysis, OpKind.PIECEWISE_CONSTANT, Trait.CONSTANT | Trait.PICKS))
    for found in flat:
        if not found.partial:
            places.setdefault(found.op.site, (found.op, set(found.parameters)))
    told_first = [*cast_to_real(analysis), *both_zero(analysis)]
    yield from told_first
    told = {name for problem in told_first for name in problem.subjects}
    slopes = list(zero_slopes(analysis))
    zeros = {slope.run.end for slope in slopes}
    explained = {op.index for op, _ in places.values() if _explained(analysis, op, ranges)}
    for op, leaves in sorted(places.values(), key=lambda place: place[0].index not in explained):
        if told.issuperset(names_of(analysis, leaves)):
            continue  # What is zero further back is a consequence.
        if op.index not in explained and fed_with_zeros(analysis, op, explained):
            continue
        if zeros and of_second_derivatives(analysis, op, zeros):
            continue
        yield _zero(analysis, op, sorted(leaves), ranges)
    partly = [found for found in flat if found.partial and found.op.site not in places]
    terms = idle_terms(analysis, (found.op.index for found in partly))
    yield from (_partly_zero(analysis, found, terms.get(found.op.index)) for found in partly)
    yield from cancelled(analysis)
    yield from own_target(analysis)
    yield from zero_second_derivatives(analysis, slopes)


def _explained(analysis: Analysis, op: Op, ranges: dict[int, Range]) -> bool:
    """Whether it is known why: what only multiplies by a zero that came from elsewhere is told after that."""
    return is_a(op.name, OpKind.PIECEWISE_CONSTANT) or bool(reason(analysis, op, ranges)[0])


def _partly_zero(analysis: Analysis, found: Flat, term: Op | None) -> Problem:
    """``term``: what is added to the loss, and has no gradient at all for it."""
    names = names_of(analysis, found.parameters)
    through = "this one" if term is None else f"the term `{term.name}`, which has a value and no gradient"
    return Problem(
        "info" if term is None else "warning",
        f"`{found.op.name}` has derivative zero: {summarize_names(names)} {agree(names, 'learns', 'learn')} from other parts "
        f"of the loss, and {agree(names, 'gets', 'get')} no gradient through {through}",
        "If it needs one, use a straight-through estimator: `soft + (hard - soft).detach()`.",
        analysis.places((found.op, "gradient becomes zero here"), (term, "term of the loss without gradient")),
        tuple(names),
        ops=(found.op.index,),
        cures=() if term is None else tuple(straight_through(analysis, found.op)),
    )


def _zero(analysis: Analysis, op: Op, leaves: list[int], ranges: dict[int, Range]) -> Problem:
    names = [name_of(analysis, t) for t in leaves]
    call = analysis.capture.call_of(op)
    layer = layer_of(analysis, op)
    of = f" of {layer} (nn.{call.type})" if call is not None and layer else ""
    here = analysis.user_frames(op.site, "gradient becomes zero here")
    assigned_places = _set_by_hand(analysis, op)
    why, fix, made = reason(analysis, op, ranges)
    return Problem(
        "warning",
        f"`{op.name}`{of} passes back a gradient that is exactly zero{f', because {why}' if why else ''}: {summarize_names(names)} "
        f"{agree(names, 'never moves', 'never move')}",
        fix,
        tuple(
            [*assigned_places, *here, *made]
            if op.name in SATURATING or has_own_weights(analysis, op)
            else [*here, *made, *assigned_places, *_handed_over(analysis, op)]
        ),
        (*names, *([layer, call.type] if call is not None and layer else [])),
        ops=(op.index,),
        cures=tuple(_cures(analysis, op)),
    )


def _handed_over(analysis: Analysis, op: Op) -> tuple[Location, ...]:
    """Where the loss takes in what is rounded: it may have been rounded for something else."""
    run = next((run for run in analysis.capture.completed_runs if run.start > op.index), None)
    if run is None or not is_a(op.name, OpKind.PIECEWISE_CONSTANT):
        return ()
    return analysis.places(
        (handed_over(analysis.capture, analysis.flow, (op,), run), "the loss is computed from it here")
    )


def _cures(analysis: Analysis, op: Op) -> Iterator[Remedies]:
    inner = analysis.capture.function_sites.get(op.name.removesuffix(".apply"), -1)
    if inner >= 0 and len(op.inputs) == 1:
        yield from at_line(analysis, inner, lambda place: ReturnGradient(place, (0,)))
    if op.has(Trait.PICKS):
        yield from sampled_smoothly(analysis, op)
        return
    if op.has(Trait.CONSTANT):
        yield from of_one_score(analysis, op)
        return
    # A clamp's gradient is zero out of its bounds, as that of what rounds is everywhere.
    bounded = is_a(op.name, OpKind.SATURATES) and is_a(op.name, OpKind.BENDS)
    hard = bounded or is_a(op.name, OpKind.PIECEWISE_CONSTANT | OpKind.CLAMPS)
    yield from (straight_through if hard else sloped)(analysis, op)
    yield from from_logits(analysis, op)


def _set_by_hand(analysis: Analysis, op: Op) -> tuple[Location, ...]:
    """Where the program itself wrote the parameters of this op, or of the one that feeds it, after they were made."""
    capture = analysis.capture
    fed = [t for t in op.inputs if capture.tensors[t].kind != "parameter"]
    feeders = [capture.ops[i] for t in fed for i in analysis.flow.producers(t, op.index)]
    parameters = dict.fromkeys(
        t
        for read in [factors_of(op), *(feeder.inputs for feeder in feeders)]
        for t in read
        if capture.tensors[t].kind == "parameter"
    )
    made = {event.site for event in capture.events_of(ParameterRegistered)}
    lines = {p.line for p in map(capture.place, made) if p is not None}
    last: list[Op] = []
    for tensor in parameters:
        storage = capture.tensors[tensor].storage
        writes = [w for w, _ in analysis.writes_to(storage, tensor, 0, op.index) if not w.has(Trait.STEP)]
        places = [(w, capture.place(w.site)) for w in writes[-1:]]
        last += [w for w, p in places if p is not None and p.line not in lines]
    return analysis.places(
        *(
            (write, f"{join_names(names_of(analysis, (w.tensor for w in write.writes)))} was set here")
            for write in sorted(last, key=lambda w: -w.index)
        )
    )
