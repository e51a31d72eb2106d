"""AG605: what is done to a model behind its wrapping, and has to be done before."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.replicas import names_in_order, steps_here
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.causes import Unreduced, unreduced
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location, dedupe_locations
from autograd_inspector.model.program_events import ModuleAttached, ParameterRegistered, ParametersConverted
from autograd_inspector.model.wording import agree, summarize_names


def check(analysis: Analysis) -> Iterator[Problem]:
    """A model is changed behind its wrapping: what it got or became since is not reduced.

    Why it matters
        DistributedDataParallel hooks onto the AccumulateGrad nodes of the parameters that it is given. A conversion
        (`model.to(torch.float64)`, `.half()`) gives a parameter another such node, and a new head has parameters that
        the wrapper never met. Both train on, each rank for itself, and nothing raises.

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
    return f"{optimizer} steps {summarize_names(names)} by {agree(names, 'a gradient', 'gradients')} of this rank alone"


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
        f"{casts[-1].api} came behind the wrapping"
        if casts
        else "the model was converted, or parts of it thawed, behind the wrapping"
    )
    return Problem(
        "error",
        f"{_start(analysis, found, names)}: {kind} was called, and its hooks did not run. {what[0].upper()}{what[1:]}, so "
        f"{agree(names, 'it has another AccumulateGrad node', 'they have other AccumulateGrad nodes')} than the hooks are on",
        f"Convert or move the model first, then wrap it: `{kind}(model.to(...))`. Make the optimizer behind that.",
        dedupe_locations(
            [
                *(place for cast in casts[-1:] for place in analysis.user_frames(cast.site, "converted here")),
                *(analysis.user_frames(found.call.site, "forward called here") if found.call is not None else ()),
                *steps_here(analysis, found),
                *_wrapped(analysis, found),
            ]
        ),
        tuple(names),
        ops=(found.first.step.op,),
    )


def _added(analysis: Analysis, found: Unreduced) -> Problem:
    names = names_in_order(analysis, found)
    kind = found.wrapper.type if found.wrapper is not None else ""
    capture, tensors = analysis.capture, set(found.tensors)
    thawed = [c for c in capture.requires_grad_changes if c.tensor in tensors and c.requires_grad]
    sites = [(change.site, "thawed here") for change in thawed]
    attached = [event for event in capture.events_of(ModuleAttached) if tensors & set(event.tensors) and event.path]
    sites += [(event.site, "put into the model here") for event in attached]
    made = [event for event in capture.events_of(ParameterRegistered) if event.tensor in tensors]
    sites += [(event.site, "put into the model here") for event in made]
    why = (
        f"{agree(names, 'it', 'they')} did not require grad when the model was wrapped"
        if thawed
        else f"the model got {agree(names, 'it', 'them')} behind the wrapping, or thawed {agree(names, 'it', 'them')} then"
    )
    return Problem(
        "error",
        f"{_start(analysis, found, names)}: {why}, and {kind} reduces what required grad in the model that it was given",
        f"Change the model and set requires_grad first, then wrap it in {kind}, then make the optimizer. To thaw layers in "
        "the course of training, wrap it again when they are thawed.",
        dedupe_locations(
            [
                *(place for site, role in dict.fromkeys(sites) for place in analysis.user_frames(site, role)),
                *steps_here(analysis, found),
                *_wrapped(analysis, found),
            ]
        ),
        tuple(names),
        ops=(found.first.step.op,),
    )
