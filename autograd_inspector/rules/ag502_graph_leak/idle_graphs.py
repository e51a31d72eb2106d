"""AG502: graphs of gradients, which backward(create_graph=True) makes for nobody."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.idle_graphs import IdleGraphs
from autograd_inspector.analysis.gradients.idle_graphs import idle_graphs as found_graphs
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import GraphFlagSet
from autograd_inspector.model.remedy import Remedies, SetArgument, Substitute
from autograd_inspector.model.wording import agree, summarize_names


def idle_graphs(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that calls backward so."""
    for found in found_graphs(analysis):
        yield _problem(analysis, found)


def _problem(analysis: Analysis, found: IdleGraphs) -> Problem:
    run, names = found.runs[-1], names_of(analysis, found.parameters)
    sites = {each.site for each in found.runs}
    flags = [
        event
        for event in analysis.capture.events_of(GraphFlagSet)
        if analysis.capture.backwards[event.run].site in sites
    ]
    flag = flags[0] if len({event.site for event in flags}) == 1 and len(flags) == len(sites) else None
    called = analysis.user_frames(run.site, "backward called here")
    fix = "Call backward() without create_graph=True"
    if flag is not None:
        fix = f"Let `{flag.variable}` be False, which backward() gets as create_graph"
    return Problem(
        "warning",
        f"backward(create_graph=True) records a graph for the .grad of {summarize_names(names)} at every step, and nothing "
        f"differentiates {agree(names, 'it', 'them')}: until {agree(names, 'it is', 'they are')} cleared, the .grad "
        f"{agree(names, 'keeps', 'keep')} the tensors saved for backward alive",
        f"{fix}: the optimizer uses only the values of the gradients.",
        (*(() if flag is None else analysis.user_frames(flag.site, "create_graph is set here")), *called),
        ("create_graph", *names),
        cures=tuple(_cures(analysis, run.site, flag)),
    )


def _cures(analysis: Analysis, site: int, flag: GraphFlagSet | None) -> Iterator[Remedies]:
    if flag is not None:
        yield from ((Substitute(place, "", "False"),) for place in analysis.user_frames(flag.site, "")[:1])
    else:
        yield from (
            (SetArgument(place, "backward", "create_graph", ""),) for place in analysis.user_frames(site, "")[:1]
        )
