"""AG301: a parameter meant to learn that no backward reached, though nothing cuts its gradient."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.none_grad_read import never_there
from autograd_inspector.advice.remedies.left_aside import counted_in, returned_too
from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.gradients.hidden_inputs import hidden_inputs
from autograd_inspector.analysis.losses.left_as_indices import exports_of
from autograd_inspector.analysis.modules.called_elsewhere import used_elsewhere
from autograd_inspector.analysis.modules.parameter_origins import forwards_without, made_here
from autograd_inspector.analysis.modules.routed import routed
from autograd_inspector.analysis.modules.unrecorded import unrecorded
from autograd_inspector.model.finding import Problem, Severity
from autograd_inspector.model.graphs import RunGraphs
from autograd_inspector.model.location import Location, dedupe_locations
from autograd_inspector.model.remedy import Remedies
from autograd_inspector.model.wording import agree, summarize_names
from autograd_inspector.rules.ag301_no_gradient.cut_from_input import cut_from_inputs
from autograd_inspector.rules.ag301_no_gradient.inputs_given import left_out_of_inputs
from autograd_inspector.rules.ag301_no_gradient.merged import left_merged
from autograd_inspector.rules.ag301_no_gradient.none_of_grad import none_of_grad
from autograd_inspector.rules.ag301_no_gradient.not_in_graph import asked_of_others
from autograd_inspector.rules.ag301_no_gradient.one_for_all import one_for_all
from autograd_inspector.rules.ag301_no_gradient.received import by_other_ranks
from autograd_inspector.rules.ag301_no_gradient.unrecorded import readings

_USE = "Use it in the forward (recompute cached features with grad), or leave it out of the optimizer."
_ADD = "Include its output in the loss that backward() is called on, or leave it out of the optimizer."
_CHOSEN = (
    "No change is needed if the data select the modules; with DistributedDataParallel pass find_unused_parameters=True."
)
_NUMBERS = (
    "Weight what the index chooses by the tensor that it is taken from: `gate[chosen] * op(x)`, or leave it out of the "
    "optimizer."
)
_OFFSET = "Leave it out (bias=False) or out of the optimizer, or add a loss term that uses the values themselves."
_FROZEN = (
    "in forwards while requires_grad was False, and required grad too late for them",
    "Call requires_grad_(True) before the forward, or leave it out of the optimizer.",
)
_FROZEN_FIRST = "Do not freeze it before its forward, or leave it out of the optimizer."
_UNRECORDED = (
    "in forwards that autograd did not record (no_grad, or a checkpoint without an input that requires grad)",
    "Call it where grad mode is on and add the result to the loss, or leave it out of the optimizer.",
)


def check(analysis: Analysis) -> Iterator[Problem]:
    """A trainable parameter was not reached by backward: never used, or used for something that is not the loss.

    Why it matters
        Its `.grad` stays None and the optimizer skips it silently. Data-parallel training raises for it, and so does
        `torch.autograd.grad` if the output was not computed from the tensor itself, but from a copy or from a slice
        taken afterwards.

    Example
        ::

            optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
            head(features).pow(2).mean().backward()
            optimizer.step()

    Fix
        ::

            optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
            head(encoder(x)).pow(2).mean().backward()
            optimizer.step()

    References
        torch.nn.parallel.DistributedDataParallel (find_unused_parameters); torch.optim.Optimizer.zero_grad.
    """
    yield from never_there(analysis)
    yield from asked_of_others(analysis)
    yield from cut_from_inputs(analysis)
    yield from none_of_grad(analysis)
    runs = analysis.capture.completed_runs
    if not runs or not analysis.capture.steps:
        return
    yield from left_merged(analysis)
    explained = {
        tensor for cut in analysis.harmful_cuts for tensor in cut.parameters
    } | analysis.losses_without_backward.keys()
    explained |= used_elsewhere(analysis.capture)
    explained.update(tensor for found in hidden_inputs(analysis) for tensor in found.starved)
    left = [
        tensor
        for tensor in sorted(
            analysis.without_gradient - explained - (analysis.in_graph_without_gradient - analysis.joined_by_wrapper)
        )
        if _met_by_a_step(analysis, tensor)
    ]
    for problem in by_other_ranks(analysis, left):
        yield problem
        return
    aside = {t: ops for t in left if (ops := unrecorded(analysis, t))}
    used = [t for t in left if analysis.lifecycle.used(t) and t not in aside]
    never = [t for t in left if t not in used and t not in aside]
    frozen = [t for t, ops in aside.items() if not any(analysis.lifecycle.requires_grad_at(t, op.index) for op in ops)]
    for mine, (how, fix) in ((frozen, _FROZEN), ([t for t in aside if t not in frozen], _UNRECORDED)):
        if mine:
            text = f"{agree(mine, 'was', 'were')} used {how}"
            advice = _FROZEN_FIRST if mine is frozen and _frozen_before_any_step(analysis, mine) else fix
            yield _finding(analysis, mine, text, (), readings(analysis, mine), fix=advice)
    taking_turns = routed(analysis.capture, never)
    never = [t for t in never if t not in taking_turns]
    if taking_turns:
        they = agree(taking_turns, "it", "them")
        why = f"{agree(taking_turns, 'belongs', 'belong')} to a list whose modules take turns, and no forward of the capture chose {they}"
        yield _finding(analysis, taking_turns, why, (), fix=_CHOSEN, severity="info")
    for problem, theirs in one_for_all(analysis, never):
        yield problem
        never = [t for t in never if t not in theirs]
    if never:
        extra = (*made_here(analysis, never), *forwards_without(analysis, never), *_entrances(analysis))
        yield _finding(
            analysis, never, f"never {agree(never, 'takes', 'take')} part in a forward of the capture", extra
        )
    yield from _used(analysis, used)


def _used(analysis: Analysis, used: list[int]) -> Iterator[Problem]:
    """Those that took part in forwards, by what was done with the results."""
    asked = left_out_of_inputs(analysis, used)
    if asked is not None:
        problem, left_out = asked
        yield problem
        used = [t for t in used if t not in left_out]
    offsets = _offsets(analysis, used)
    used = [t for t in used if t not in offsets]
    if offsets:
        they = agree(offsets, "it", "them")
        why = (
            f"{agree(offsets, 'is', 'are')} only added to what autograd.grad differentiates, and no derivative depends "
            f"on {they}"
        )
        yield _finding(analysis, offsets, why, (), _uses(analysis, offsets), fix=_OFFSET, severity="info")
    numbers = {t: ops for t in used if (ops := exports_of(analysis, t))}
    if numbers:
        left_as = list(numbers)
        why = f"{agree(left_as, 'is', 'are')} used, but all that is computed from {agree(left_as, 'it', 'them')} leaves torch as an index"
        sites = dict.fromkeys(op.site for ops in numbers.values() for op in ops)
        out = analysis.places(*((site, "leaves torch as an index here") for site in sites))
        yield _finding(analysis, left_as, why, (), (*out[:4], *_uses(analysis, left_as)), fix=_NUMBERS)
    used = [t for t in used if t not in numbers]
    if used:
        they = agree(used, "it", "them")
        why = f"{agree(used, 'is', 'are')} used, but nothing computed from {they} reaches the loss"
        cures = (*counted_in(analysis, used), *returned_too(analysis, used))
        yield _finding(analysis, used, why, (), (*_uses(analysis, used), *_left_over(analysis, used)), cures=cures)


def _finding(
    analysis: Analysis,
    tensors: list[int],
    why: str,
    extra: tuple[Location, ...],
    uses: tuple[Location, ...] = (),
    *,
    fix: str = "",
    severity: Severity = "warning",
    cures: tuple[Remedies, ...] = (),
) -> Problem:
    names = [name_of(analysis, t) for t in tensors]
    holders = analysis.capture.placement.holding(tensors)
    made = analysis.places(*((o, "given to the optimizer here") for o in holders))
    runs = [run for run in analysis.capture.backwards if run.api == "backward"]
    return Problem(
        severity,
        f"{summarize_names(names)} {agree(tensors, 'is', 'are')} in an optimizer but got no gradient: {agree(tensors, 'it', 'they')} {why}",
        fix or (_ADD if uses else _USE),
        (*uses, *made, *extra, *analysis.user_frames(runs[-1].site, "backward called here")),
        tuple(names),
        cures=cures,
    )


def _met_by_a_step(analysis: Analysis, tensor: int) -> bool:
    """Whether it required grad at some step: what was unfrozen after the last one had no chance to learn yet."""
    lifecycle = analysis.lifecycle
    return not lifecycle.unfrozen([tensor]) or any(
        lifecycle.requires_grad_at(tensor, step.at) for step in analysis.capture.steps
    )


def _frozen_before_any_step(analysis: Analysis, tensors: list[int]) -> bool:
    """Whether the program froze them itself and thawed them before the first step: freezing them served nothing."""
    first = min(step.at for step in analysis.capture.steps)
    lifecycle = analysis.lifecycle
    return bool(lifecycle.frozen(tensors, until=first)) and bool(lifecycle.unfrozen(tensors, until=first))


def _offsets(analysis: Analysis, tensors: list[int]) -> list[int]:
    """Parameters of what ``autograd.grad`` differentiated that its derivative does not depend on: the bias of an energy.

    Others of the same graph did get a gradient by way of the derivative.
    """
    if not tensors:
        return []
    runs = [run for run in analysis.capture.backwards if run.api == "grad" and not run.error]
    run_graphs = RunGraphs(analysis.capture.nodes, runs)
    graphs = dict.fromkeys(run_graphs.leaves(place) for place in range(len(runs)))
    return [
        t for t in tensors if any(t in graph and not graph.isdisjoint(analysis.received_gradient) for graph in graphs)
    ]


def _entrances(analysis: Analysis) -> tuple[Location, ...]:
    """Where tensors without history enter the computation of the loss."""
    run = next(run for run in reversed(analysis.capture.backwards) if run.api == "backward")
    entrances: list[Location] = []
    for op, _ in analysis.flow.upstream([(root, run.start) for root in run.roots], lambda o, t: True):
        for tensor in op.inputs:
            record = analysis.capture.tensors[tensor]
            if (
                record.kind == "input"
                and record.birth < 0
                and not record.requires_grad
                and record.dtype.startswith("fl")
            ):
                entrances += analysis.user_frames(op.site, "the loss is computed from this")
    return dedupe_locations(entrances)[:4]


def _left_over(analysis: Analysis, tensors: list[int]) -> Iterator[Location]:
    """Where numbers are computed from them, as losses are, that the one of backward() leaves out: each line once."""
    live, records, told = set(tensors), analysis.capture.tensors, set[tuple[str, int] | None]()
    for op in analysis.capture.ops:
        if not op.recorded or live.isdisjoint(op.inputs):
            continue
        live.update(op.outputs)
        line = line_of(analysis, op.site)
        loss = op.outputs and not any(records[t].shape for t in op.outputs)
        if loss and any(records[t].shape for t in op.inputs if t in live) and line not in told:
            told.add(line)
            yield from analysis.user_frames(op.site, "computed here, and left out of the loss")[:1]


def _uses(analysis: Analysis, tensors: list[int]) -> tuple[Location, ...]:
    op = next((o for o in analysis.capture.ops if o.recorded and set(tensors) & set(o.inputs)), None)
    return analysis.user_frames(op.site, "used here") if op is not None else ()
