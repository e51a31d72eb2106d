"""AG409 where rows of a parameter change places, and the state of each row stays where it was."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.rearranged_rows import rearranged_rows
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, join_names, summarize_names


def rows_without_state(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each optimizer and line."""
    for found in rearranged_rows(analysis):
        optimizer = analysis.capture.placement.optimizers[found.optimizer]
        names, entries = names_of(analysis, found.tensors), list(found.entries)
        first = entries[0]
        yield Problem(
            "warning",
            f"`{found.written.name}` puts the rows of {summarize_names(names)} into another order, but the state of "
            f"{optimizer.type} ({join_names(entries)}) keeps the old order: each row is updated with the state of another row",
            f"Put the state into the same order, by the same index: `state[{first!r}].copy_(state[{first!r}][index])` for "
            f"{agree(entries, 'this entry', 'each of these entries')} of `optimizer.state[parameter]`.",
            analysis.places(
                (found.written, "rows put into another order here"),
                (found.following, "step() continues with the old order here"),
            ),
            (*names, *entries),
            ops=(found.written.index, found.following.op),
        )
