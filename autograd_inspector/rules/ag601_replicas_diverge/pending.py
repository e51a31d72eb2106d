"""AG601 where the program writes to what a collective that is still running works with."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.pending import written_early
from autograd_inspector.model.finding import Problem


def written_while_running(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that writes."""
    for found in written_early(analysis.capture, analysis.reductions):
        owner = next((p for p, gradients in analysis.gradients.items() if found.tensor in gradients), None)
        names = names_of(analysis, (owner,)) if owner is not None else ()
        what = f"the gradient of {names[0]}" if names else "a tensor"
        yield Problem(
            "error",
            f"`{found.op.name}` writes to {what} while {found.call.name} may still be running: it was started without waiting, and "
            "the call that waits comes later, so the result depends on which of the two is faster",
            "Call `work.wait()` before the line that writes.",
            analysis.places(
                (found.op, "written here"),
                (found.call, f"{found.call.name} started here"),
                (found.wait, "waited for here"),
            ),
            tuple(names),
            ops=(found.op.index, found.call.at),
        )
