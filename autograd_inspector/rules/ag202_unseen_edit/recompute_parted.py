"""AG202 under checkpointing: a recomputation that ran other calls than the forward, and torch did not notice.

Torch compares the layouts of what is saved, and of a reentrant checkpoint nothing. There both are compared from the
results upwards: what one of them computed beside that, or had kept from the other, makes no difference.
"""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of, where_made
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.unseen_edits.recomputed_unlike import recomputed_with_other_calls
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import summarize_names


def recomputed_unlike(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line where a recomputation parts from its forward."""
    for run, again, pair in recomputed_with_other_calls(analysis):
        one, other = where_made(analysis, pair.before), where_made(analysis, pair.after)
        learning = names_of(analysis, dict.fromkeys(t for op in again for t in op.inputs if t in analysis.learning))
        of = f" of {summarize_names(learning)}" if learning else ""
        yield Problem(
            "error",
            (
                f"the forward called {one} where the recomputation in backward called {other}"
                if one != other
                else f"the forward and the recomputation in backward call {one} with different operands"
            )
            + f": the gradients{of} belong to a different output and are silently wrong",
            "The checkpointed function must depend only on its arguments and on parameters, not on a counter, cache, mode or "
            "autocast that differs in backward.",
            analysis.places(
                (pair.before, "in the forward"), (pair.after, "in the recomputation"), (run, "backward called here")
            ),
            (*dict.fromkeys((pair.before.name, pair.after.name)), *learning),
            ops=(pair.before.index, pair.after.index),
        )
