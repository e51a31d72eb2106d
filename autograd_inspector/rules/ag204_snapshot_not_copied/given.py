"""AG204: snapshots that were assigned to parameters without a copy, and that are trained since."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of, names_of
from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.memory.given_snapshots import given_snapshots
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Trait
from autograd_inspector.model.wording import agree, summarize_names


def given(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each pair of lines: the one that assigns, and the one that does so in vain."""
    for each in grouped(
        given_snapshots(analysis),
        lambda found: (line_of(analysis, found.given.site), line_of(analysis, found.used.site)),
    ).values():
        first = each[0]
        names, kept = names_of(analysis, (found.parameter for found in each)), name_of(analysis, first.snapshot)
        changed = f"{first.changed.name}()" if first.changed.has(Trait.STEP) else f"`{first.changed.name}`"
        yield Problem(
            "warning",
            f"{summarize_names(names)} {agree(names, 'has', 'have')} had the memory of the snapshot since it was assigned "
            f"without a copy: {changed} has changed both, and assigning the snapshot again restores nothing",
            "Assign a copy of the snapshot, `.clone()`, or write its values into the parameter: `p.copy_(value)` under "
            "torch.no_grad().",
            analysis.places(
                (first.given, "assigned without a copy here"),
                (first.changed, "changed here"),
                (first.used, "assigned again here"),
            ),
            (*names, kept),
            ops=(first.used.index,),
        )
