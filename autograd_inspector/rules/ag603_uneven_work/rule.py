"""AG603: ranks that do not do the same work, or not all that the others wait for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.replaced import replaced
from autograd_inspector.model.event import RequiresGradChanged
from autograd_inspector.model.finding import Across, Problem
from autograd_inspector.model.program_events import (
    ParameterRegistered,
    ReductionUnfinished,
    ReplicasWrapped,
    WrapperCalled,
)
from autograd_inspector.model.rank_summary import RankSummary
from autograd_inspector.model.ranks import RankedPlacement
from autograd_inspector.model.torch_errors import TorchError, says
from autograd_inspector.model.wording import agree, summarize_names
from autograd_inspector.rules.ag603_uneven_work.ranks import compared

_INDEX = re.compile(r"Parameter at index (\d+)")


def check(analysis: Analysis) -> Iterator[Problem]:
    """A rank skips something the other ranks wait for: a parameter of the wrapped model, or a communication call.

    Why it matters
        DistributedDataParallel reduces a bucket once every gradient in it has arrived. If a loss does not reach a
        parameter, the other gradients in its bucket are not reduced, and the next forward raises an error with indices
        instead of names. If this happens on one rank only, the other ranks wait. So do they if one rank has an extra batch.

    Example
        ::

            model = DistributedDataParallel(branched)
            loss = model(x, branch=False).square().mean()
            loss.backward()
            optimizer.step()

    Fix
        ::

            model = DistributedDataParallel(branched, find_unused_parameters=True)
            loss = model(x, branch=dist.get_rank() == 0).square().mean()
            loss.backward()
            optimizer.step()

    References
        torch.nn.parallel.DistributedDataParallel (find_unused_parameters, static_graph, join).
    """
    reductions = analysis.reductions
    calls = [call for call in analysis.capture.events_of(WrapperCalled) if call.synced]
    for wrapper in reductions.wrappers.values():
        yield from _unreached(analysis, wrapper, [call for call in calls if call.wrapper == wrapper.wrapper])
    yield from _alone(analysis)
    yield from _twice(analysis, calls)


def _unreached(analysis: Analysis, wrapper: ReplicasWrapped, calls: list[WrapperCalled]) -> Iterator[Problem]:
    """One finding, about the first forward after which the reducer waits in vain."""
    capture = analysis.capture
    for place, call in enumerate(calls):
        following = calls[place + 1] if place + 1 < len(calls) else None
        end = following.at if following is not None else len(capture.ops)
        done = following is not None or bool(analysis.timeline.steps.within(call.at, end)) or bool(capture.error)
        missing = analysis.reductions.wrapper_calls.unreached(wrapper, call, end) if done else []
        if not missing:
            continue
        gone = replaced(capture, wrapper)
        if gone and gone.keys() >= set(missing):
            yield _replaced(analysis, wrapper, call, [*gone.values()])
            return
        frozen = _frozen_since(analysis, wrapper, call, missing)
        if frozen:
            yield _frozen(analysis, wrapper, call, missing, frozen)
            return
        names = names_of(analysis, missing)
        run = analysis.timeline.backwards.within(call.at, end)[0]
        static = (
            " With static_graph=True, every step must use the parameters that the first one used."
            if wrapper.static
            else ""
        )
        yield Problem(
            "error",
            f"backward() does not reach {summarize_names(names)} of {wrapper.type}, which waits for "
            f"{agree(names, 'its gradient', 'their gradients')} before it reduces: gradients in the same bucket are not "
            f"reduced, ranks that did reach {agree(names, 'it', 'them')} wait, and the next forward raises.{static}",
            f"Use all parameters in each forward, or let {wrapper.type} detect the unused ones: "
            f"`find_unused_parameters=True`{' instead of static_graph=True' if wrapper.static else ''}.",
            analysis.places((call, "forward called here"), (run, "backward() called here"), (wrapper, "wrapped here")),
            tuple(names),
        )
        return


def _alone(analysis: Analysis) -> Iterator[Problem]:
    """A wrapper of one rank that refused a forward: what no backward reached since the forward before."""
    capture = analysis.capture
    for event in capture.events_of(ReductionUnfinished):
        runs = analysis.timeline.backwards.within(event.at, len(capture.ops))
        reached = {tensor for run in runs for tensor in run.reached}
        missing = [tensor for tensor in event.tensors if tensor not in reached]
        # What failed inside a backward is another error of the reducer's.
        if not missing or reached.isdisjoint(event.tensors) or any(run.graph.blind or run.error for run in runs):
            continue
        names = names_of(analysis, missing)
        yield Problem(
            "error",
            f"{event.type} refused its forward: backward() of the forward before did not reach {summarize_names(names)}, for "
            f"whose {agree(names, 'gradient', 'gradients')} it waits, on one rank alone as well",
            f"Use all parameters in each forward, or let {event.type} detect the unused ones: `find_unused_parameters=True`.",
            analysis.places(
                (event, "forward called here"),
                *((run, "backward() called here") for run in runs[:1]),
                *(((event.made, "wrapped here"),) if event.made >= 0 else ()),
                (capture.error_site, "refused here"),
            ),
            tuple(names),
        )
        return


def _frozen_since(
    analysis: Analysis, wrapper: ReplicasWrapped, call: WrapperCalled, missing: list[int]
) -> list[RequiresGradChanged]:
    """The changes that froze all of them between the wrapping and a call; none where some are unused by another cause."""
    changes = [
        change
        for change in analysis.capture.requires_grad_changes
        if wrapper.at <= change.at <= call.at and change.tensor in missing
    ]
    last = {change.tensor: change for change in changes}
    frozen = [change for change in last.values() if not change.requires_grad]
    return frozen if len(frozen) == len(missing) else []


def _frozen(
    analysis: Analysis,
    wrapper: ReplicasWrapped,
    call: WrapperCalled,
    missing: list[int],
    changes: list[RequiresGradChanged],
) -> Problem:
    """What the wrapper waits for was frozen after it was wrapped."""
    names = names_of(analysis, missing)
    return Problem(
        "error",
        f"{summarize_names(names)} {agree(names, 'was', 'were')} frozen after {wrapper.type} had wrapped the model: "
        f"{wrapper.type} waits for {agree(names, 'its gradient', 'their gradients')}, which no backward() computes, and the "
        "next forward raises",
        f"Freeze the parameters before the model is wrapped in {wrapper.type}: it leaves out what does not require grad then.",
        analysis.places(
            *((change, "frozen here") for change in changes[:1]),
            (wrapper, "wrapped here"),
            (call, "forward called here"),
        ),
        tuple(names),
    )


def _replaced(
    analysis: Analysis, wrapper: ReplicasWrapped, call: WrapperCalled, gone: list[ParameterRegistered]
) -> Problem:
    """What the wrapper waits for is no longer in the model."""
    names = list(dict.fromkeys(event.api for event in gone))
    return Problem(
        "error",
        f"{summarize_names(names)} of the model {agree(names, 'was', 'were')} replaced after {wrapper.type} had wrapped it: "
        f"{wrapper.type} waits for the gradient of the old {agree(names, 'parameter', 'parameters')}, which no backward() "
        "reaches, and the next forward raises",
        f"Change the model first, tie its weights, then wrap it in {wrapper.type}, then create the optimizer.",
        analysis.places(
            *((event, "replaced here") for event in gone), (wrapper, "wrapped here"), (call, "forward called here")
        ),
        (*names, *names_of(analysis, [event.tensor for event in gone])),
    )


def _twice(analysis: Analysis, calls: list[WrapperCalled]) -> Iterator[Problem]:
    """A parameter whose gradient came twice for one forward."""
    for run in analysis.capture.backwards:
        found = _INDEX.search(run.error) if says(run.error, TorchError.DDP_REDUCTION) else None
        before = [call for call in calls if call.at <= run.start]
        if found is None or not before:
            continue
        wrapper = analysis.reductions.wrappers[before[-1].wrapper]
        place = int(found[1])
        if place >= len(wrapper.tensors):
            continue
        names = names_of(analysis, wrapper.tensors[place : place + 1])
        yield Problem(
            "error",
            f"the gradient of {names[0]} arrived twice for one forward of {wrapper.type}, which reduces each gradient once: the "
            "layer runs in several checkpoints with use_reentrant=True, or in several forwards before one backward",
            "Pass use_reentrant=False to checkpoint(). If the same layers run in each step, static_graph=True of "
            f"{wrapper.type} allows both cases.",
            analysis.places((run, "raised here"), (before[-1], "forward called here")),
            tuple(names),
        )
        return


def compare(ranks: Mapping[int, RankSummary], _placement: RankedPlacement) -> Iterator[Across]:
    """What the ranks' summaries show together."""
    yield from compared(ranks)
