"""AG502: a value that each step computes from the one before, with all the graphs behind it."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of, names_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.advice.remedies.graphs import added_without_graph
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.earlier_graphs.chained_results import (
    chains_of_results,
    goes_back,
    is_consumed,
    steps_held,
)
from autograd_inspector.analysis.earlier_graphs.links import Line, Link, became_results, edited
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Wrap
from autograd_inspector.model.wording import agree, join_names, summarize_names
from autograd_inspector.rules.ag502_graph_leak.fixes import added_at, fix_of, variables, without_graph


def chains(analysis: Analysis) -> Iterator[Problem]:
    """A line that, step after step, computes with what it (or its neighbour) computed in the step before."""
    told: set[Line] = set()
    for line, lasting in chains_of_results(analysis):
        told.add(line)
        yield _finding(analysis, line, lasting)
    for line, links in edited(analysis).items():
        if line not in told and not is_consumed(analysis, links):
            told.add(line)
            yield _edited_finding(analysis, line, links, chained=True)
    for line, links in became_results(analysis).items():
        if line not in told and not is_consumed(analysis, links):
            yield _edited_finding(analysis, line, links, chained=False)


def _finding(analysis: Analysis, line: Line, layers: dict[str, list[Link]]) -> Problem:
    links = [link for members in layers.values() for link in members]
    last = max(links, key=lambda link: link.op.index)
    longest = max(layers.values(), key=lambda members: max(link.length for link in members))
    folded = any(goes_back(analysis, members[0]) for members in layers.values())
    steps = "more and more steps" if folded else f"{steps_held(analysis, line, last)} steps"
    place = analysis.capture.place(last.op.site)
    target = place.target if place is not None else ""
    name = target or name_of(analysis, last.tensor)
    inside = join_names((f"'{layer}'" for layer in layers if layer), 3)
    whole = f"{name} of {inside}" if inside and name.startswith("self.") else name
    return Problem(
        "warning",
        f"`{last.op.name}` adds the graph of each step to the graph of {whole}: the graphs of {steps} are chained and stay in memory",
        fix_of(analysis, line, last, name),
        analysis.user_frames(last.op.site, "graph kept here"),
        (name,),
        ops=tuple(link.op.index for link in longest[:16]),
        cures=tuple(
            added_without_graph(
                analysis,
                last.op.site,
                variables(analysis, added_at(analysis, line, last)),
                number=all(analysis.capture.tensors[t].shape == () for t in last.op.outputs),
            )
        ),
        safe=True,
    )


def _edited_finding(analysis: Analysis, line: Line, links: list[Link], *, chained: bool) -> Problem:
    last = max(links, key=lambda link: link.op.index)
    names = names_of(analysis, dict.fromkeys(link.tensor for link in links))
    steps = (
        "more and more steps" if analysis.capture.history.folded else f"{max(link.length for link in links) + 1} steps"
    )
    added = [
        tensor for tensor in added_at(analysis, line, last) if analysis.recorded_edits.base_of(tensor) != last.tensor
    ]
    seen = (
        f"in each step: the graphs of {steps} are chained and stay in memory"
        if chained
        else f"{agree(names, ', which is', ', which are')} no longer {agree(names, 'a leaf', 'leaves')}: the graph behind "
        "the new value stays in memory, and that of each further edit is chained to it"
    )
    return Problem(
        "warning",
        f"Autograd records `{last.op.name}` on {summarize_names(names)}{' ' if chained else ''}{seen}",
        f"{without_graph(analysis, added, summarize_names(names))}, or update under `with torch.no_grad():`.",
        analysis.user_frames(last.op.site, "graph kept here"),
        tuple(names),
        ops=tuple(link.op.index for link in links[:16]),
        cures=at_line(analysis, last.op.site, lambda place: Wrap(place, "with torch.no_grad():")),
    )
