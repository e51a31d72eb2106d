"""AG202 under checkpointing: the checkpointed function modifies what lives outside, once in forward and once again."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.unseen_edits.edited_twice import edited_in_both_runs
from autograd_inspector.model.finding import Problem


def edited_twice(analysis: Analysis) -> Iterator[Problem]:
    """An edit that the recomputation repeats, of memory that an op after it reads in both runs."""
    for first, again, tensor, reader in edited_in_both_runs(analysis):
        name = name_of(analysis, next((w.tensor for w in first.writes), tensor))
        yield Problem(
            "error",
            f"`{first.name}` inside the checkpointed function modifies {name}, which is defined outside of it: backward runs the "
            f"function again, so it is modified twice, `{reader.name}` is recomputed with different values, and "
            "the gradients are silently wrong",
            f"Compute out of place inside the checkpointed function, or modify {name} outside of it.",
            analysis.places((first, "modified here"), (reader, "recomputed with different values here")),
            (name, first.name),
            (
                f"The forward ran `{first.name}` once.",
                f"Backward ran the checkpointed function again, and with it `{again.name}` on the result of the first run.",
            ),
            (first.index, again.index),
        )
