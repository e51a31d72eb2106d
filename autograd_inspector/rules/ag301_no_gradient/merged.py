"""AG301 for adapters that were merged into a weight, for an evaluation say, and not taken out again."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of, names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.modules.merged import Merged, merged_away
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def left_merged(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that merges."""
    for each in grouped(merged_away(analysis), lambda merged: merged.write.site).values():
        yield _problem(analysis, each)


def _problem(analysis: Analysis, merged: list[Merged]) -> Problem:
    first = merged[0]
    names = names_of(analysis, dict.fromkeys(tensor for each in merged for tensor in each.tensors))
    into = name_of(analysis, first.into)
    return Problem(
        "warning",
        f"{summarize_names(names)} {agree(names, 'was', 'were')} merged into {into} here, and no backward() has reached "
        f"{agree(names, 'it', 'them')} since: {agree(names, 'it was', 'they were')} trained before and "
        f"{agree(names, 'does', 'do')} not move any more",
        "Undo the merge before training continues, or merge a copy of the model.",
        analysis.places((first.write, "merged here"), (first.run, "no gradient from here on")),
        (*names, into),
        ops=(first.write.index,),
    )
