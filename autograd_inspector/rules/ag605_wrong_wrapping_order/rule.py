"""AG605: what is done to a model behind its wrapping, and has to be done before."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.replicas import names_in_order, steps_here
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.causes import Unreduced, unreduced
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.program_events import ModuleAttached, ParameterRegistered, ParametersConverted
from autograd_inspector.model.wording import agree, summarize_names


def check(analysis: Analysis) -> Iterator[Problem]:
    """A model is changed after it was wrapped: gradients of the changed parameters are not reduced.

    Why it matters
        DistributedDataParallel registers hooks on the AccumulateGrad nodes of the parameters it wraps. A conversion
        (`model.to(torch.float64)`, `.half()`) gives a parameter a new node, and a new head has parameters that the
        wrapper does not know. Each rank keeps training them separately, and nothing raises.

    Example
        ::

            model = DistributedDataParallel(net)
            model.to(torch.float64)
            model(x.double()).square().mean().backward()
            optimizer.step()

    Fix
        ::

            model = DistributedDataParallel(net.to(torch.float64))
            model(x.double()).square().mean().backward()
            optimizer.step()

    References
        torch.nn.parallel.DistributedDataParallel; pytorch/pytorch#104336.
    """
    if not analysis.reductions.several_ranks:
        return
    for found in unreduced(analysis.capture, analysis.reductions):
        if found.why == "unhooked":
            yield _unhooked(analysis, found)
        elif found.why == "added":
            yield _added(analysis, found)


def _start(analysis: Analysis, found: Unreduced, names: list[str]) -> str:
    optimizer = analysis.capture.placement.optimizers[found.first.step.optimizer].type
    return f"{optimizer} updates {summarize_names(names)} with {agree(names, 'a gradient', 'gradients')} from this rank only"


def _wrapped(analysis: Analysis, found: Unreduced) -> tuple[Location, ...]:
    return analysis.user_frames(found.wrapper.site, "wrapped here") if found.wrapper is not None else ()


def _unhooked(analysis: Analysis, found: Unreduced) -> Problem:
    names = names_in_order(analysis, found)
    kind = found.wrapper.type if found.wrapper is not None else ""
    casts = [
        event
        for event in analysis.capture.events_of(ParametersConverted)
        if not set(found.tensors).isdisjoint(event.tensors) and event.at <= found.first.run.start
    ]
    what = (
        f"{casts[-1].api} was called after wrapping"
        if casts
        else "the model was converted, or parts of it were unfrozen, after wrapping"
    )
    return Problem(
        "error",
        f"{_start(analysis, found, names)}: {kind} was called, but its hooks did not run. {what[0].upper()}{what[1:]}, so "
        f"{agree(names, 'it has a new AccumulateGrad node', 'they have new AccumulateGrad nodes')} without the hooks",
        f"Convert or move the model first, then wrap it: `{kind}(model.to(...))`. Create the optimizer after that.",
        (
            *analysis.places(*((cast, "converted here") for cast in casts[-1:]), (found.call, "forward called here")),
            *steps_here(analysis, found),
            *_wrapped(analysis, found),
        ),
        tuple(names),
        ops=(found.first.step.op,),
    )


def _added(analysis: Analysis, found: Unreduced) -> Problem:
    names = names_in_order(analysis, found)
    kind = found.wrapper.type if found.wrapper is not None else ""
    capture, tensors = analysis.capture, set(found.tensors)
    made = [event for event in capture.events_of(ParameterRegistered) if event.tensor in tensors]
    old = tensors - {event.tensor for event in made if found.wrapper is not None and event.at >= found.wrapper.at}
    thawed = [c for c in capture.requires_grad_changes if c.tensor in old and c.requires_grad]
    sites = [(change.site, "unfrozen here") for change in thawed]
    attached = [event for event in capture.events_of(ModuleAttached) if tensors & set(event.tensors) and event.path]
    sites += [(event.site, "added to the model here") for event in attached]
    sites += [(event.site, "added to the model here") for event in made]
    why = (
        f"{agree(names, 'it', 'they')} did not require grad when the model was wrapped"
        if thawed
        else f"{agree(names, 'it was', 'they were')} added to the model, or unfrozen, after wrapping"
    )
    return Problem(
        "error",
        f"{_start(analysis, found, names)}: {why}, and {kind} reduces only the parameters that required grad at wrapping time",
        f"Change the model and set requires_grad first, then wrap it in {kind}, then create the optimizer. To unfreeze "
        "layers during training, wrap the model again after unfreezing them.",
        (
            *analysis.places(*((site, role) for site, role in dict.fromkeys(sites))),
            *steps_here(analysis, found),
            *_wrapped(analysis, found),
        ),
        tuple(names),
        ops=(found.first.step.op,),
    )
