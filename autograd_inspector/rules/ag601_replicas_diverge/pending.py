"""AG601 where the program uses what a call between ranks that is still running works with."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.pending import UsedEarly, used_early
from autograd_inspector.model.finding import Problem


def used_while_running(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that writes, or reads what is still to come."""
    for found in used_early(analysis.capture, analysis.reductions):
        owner = next((p for p, gradients in analysis.gradients.items() if found.tensor in gradients), None)
        names = names_of(analysis, (owner,)) if owner is not None else ()
        what = f"the gradient of {names[0]}" if names else "a tensor"
        yield Problem(
            "error",
            f"{_does(found, what)}: it was started without waiting, and the call that waits comes later, so the result depends "
            "on which of the two is faster",
            f"Call `work.wait()` before the line that {'reads' if found.reads else 'writes'}.",
            analysis.places(
                (found.op, "read here" if found.reads else "written here"),
                (found.call, f"{found.call.name} started here"),
                (found.wait, "waited for here"),
            ),
            tuple(names),
            ops=(found.op.index, found.call.at),
        )


def _does(found: UsedEarly, what: str) -> str:
    if found.reads:
        return f"`{found.op.name}` reads {what} that {found.call.name} may not have written yet"
    return f"`{found.op.name}` writes to {what} while {found.call.name} may still be running"
