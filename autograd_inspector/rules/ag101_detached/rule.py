"""AG101: gradient that a `.detach()` or its like cuts off."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.cut_problems import caused_by, cut_problem, described
from autograd_inspector.advice.detached_copies import attached as attached_advice
from autograd_inspector.advice.detached_copies import handed_on, serves_one_loss
from autograd_inspector.advice.naming import name_of, names_of
from autograd_inspector.advice.remedies.cuts import attached, served_elsewhere, traced, written_with_graph
from autograd_inspector.advice.spelling import is_path
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.callers import called_on
from autograd_inspector.analysis.gradient_cuts.classifier import GradientCut, bypassed, copied_in
from autograd_inspector.analysis.gradients.gathering import gathers
from autograd_inspector.analysis.gradients.straight_through import Estimator, reversed_estimators
from autograd_inspector.analysis.modules.hooked_outputs import returned_by_hook
from autograd_inspector.analysis.op_kinds import OpKind, is_a, spelled
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import ParameterWrapped
from autograd_inspector.model.remedy import Insert, Operand, Remedies
from autograd_inspector.model.torch_names import LOADING
from autograd_inspector.model.wording import join_names
from autograd_inspector.rules.ag101_detached.truncated import truncated


def check(analysis: Analysis) -> Iterator[Problem]:
    """A `.detach()`, `.detach_()` or `.data` cuts trainable parameters off the loss.

    Why it matters
        A detached tensor has the same values but no graph. Parameters before it get no gradient: backward raises "does
        not require grad" if no other path leads to a parameter, and raises nothing if one does. Parameters of
        a recurrence whose state is detached in every step learn nothing about earlier inputs.

    Example
        ::

            hidden = encoder(x).detach()
            loss = head(hidden).pow(2).mean()
            loss.backward()
            optimizer.step()

    Fix
        ::

            hidden = encoder(x)
            loss = head(hidden).pow(2).mean()
            loss.backward()
            optimizer.step()

    References
        torch.Tensor.detach; "Autograd mechanics" in the notes of the PyTorch documentation.
    """
    estimators = list(reversed_estimators(analysis))
    for estimator in estimators:
        yield _reversed(analysis, estimator)
    explained = {tensor for estimator in estimators for tensor in estimator.joined.inputs}
    carried = list(truncated(analysis))
    yield from carried
    explained_ops = {op for problem in carried for op in problem.ops}
    for cut in caused_by(analysis, "detached"):
        if not explained.isdisjoint(cut.through) or not explained_ops.isdisjoint(op.index for op in cut.ops):
            continue
        what, kept, fix = _cutting(analysis, cut)
        wrapped = [e for e in analysis.capture.events_of(ParameterWrapped) if e.tensor == cut.through[0]]
        site = wrapped[0].site if wrapped else cut.ops[0].site
        places = (*analysis.user_frames(site, "detached here"), *returned_by_hook(analysis, cut.ops[0]))
        cures = tuple(_cures(analysis, cut))
        yield cut_problem(analysis, cut, f"{what} {kept}", fix, places, cures)


def _cures(analysis: Analysis, cut: GradientCut) -> Iterator[Remedies]:
    if served_elsewhere(analysis, cut):
        return
    if cut.ops[0].name == "grad":
        yield from traced(analysis, cut)
        return
    if analysis.capture.sites[cut.ops[0].site].through == "Module.state_dict":
        place = analysis.capture.place(cut.ops[0].site)
        owner = called_on(place, "state_dict")
        if place is not None and owner:
            yield (Operand(place, "whole", f"dict({owner}.named_parameters())"),)
        return
    gathered, last = handed_on(analysis, cut), gathers(analysis, cut)
    if gathered and last is not None:
        for place in analysis.user_frames(last.site, "")[:1]:
            yield (Insert(place, gathered, "behind", outside_loops=True),)
    elif serves_one_loss(analysis, cut):
        yield from attached(analysis, cut.ops)
    yield from written_with_graph(analysis, cut)


def _reversed(analysis: Analysis, found: Estimator) -> Problem:
    value, gradient = name_of(analysis, found.value), name_of(analysis, found.gradient)
    if found.swapped:
        text = f"the two terms of the straight-through estimator are swapped: its value is that of {value} alone, and the gradient goes to {gradient} instead of {value}"
        fix = f"Detach the difference: `{value} + ({gradient} - {value}).detach()`."
    else:
        text = f"the straight-through estimator detaches the wrong term: its value is that of {value}, and {gradient} gets its gradient with the sign reversed"
        fix = f"Detach the term that is subtracted: `{value} - {gradient}.detach() + {gradient}`."
    return Problem(
        "warning",
        text,
        fix,
        analysis.user_frames(found.joined.site, "added up here"),
        (gradient, value),
        ops=(found.joined.index,),
        cures=tuple(_estimated(analysis, found, value, gradient)),
    )


def _estimated(analysis: Analysis, found: Estimator, value: str, gradient: str) -> Iterator[Remedies]:
    """The sum with its terms where they belong, of tensors that the program has names for."""
    place = analysis.capture.place(found.joined.site)
    if place is not None and is_path(value) and is_path(gradient):
        new = (
            f"{value} + ({gradient} - {value}).detach()"
            if found.swapped
            else f"{value} - {gradient}.detach() + {gradient}"
        )
        yield (Operand(place, "whole", new),)


def _cutting(analysis: Analysis, cut: GradientCut) -> tuple[str, str, str]:
    """(what cuts, what it does, what to write instead)."""
    op = cut.ops[0]
    what = spelled(op.name) if is_a(op.name, OpKind.DETACHES) else "nn.Parameter()"
    if op.name == "set_data":
        target = join_names((name_of(analysis, write.tensor) for write in op.writes), 3)
        return what, f"gives {target} the values of a computed tensor, but not its graph", _FUNCTIONAL
    if op.name == "grad":
        tensors = analysis.capture.tensors
        named = [t for t in op.outputs if tensors[t].names or tensors[t].variable]
        result = join_names(names_of(analysis, named), 3) or "a gradient"
        fix = "Write torch.autograd.grad(..., create_graph=True) where its result takes part in the loss."
        return what, f"returns {result} without a graph, because create_graph is False", fix
    if bypassed(analysis.capture, op, cut.through[0]):
        kept = f"changes {name_of(analysis, cut.through[0])} without recording how the new values were computed"
        return f"`{op.name}` through an alias (.data or .detach())", kept, _FUNCTIONAL
    if copied_in(analysis.capture, op, cut.through[0]):
        target = join_names((name_of(analysis, write.tensor) for write in op.writes), 3)
        loading = analysis.capture.regions[op.region].library == LOADING
        by = "load_state_dict()" if loading else f"`{op.name}`"
        return by, f"gives {target} the values of a computed tensor, but not its graph", _FUNCTIONAL
    if not is_a(op.name, OpKind.DETACHES):
        return what, f"makes a new leaf from the result of `{op.name}`, without its graph", _FUNCTIONAL
    return what, f"cuts {described(analysis, op)} from the graph", attached_advice(analysis, cut, what)


_FUNCTIONAL = (
    "Use the computed tensor itself in the forward; torch.func.functional_call(module, {name: tensor}, args) lets a "
    "module compute with it."
)
