"""AG406: parameters that were to be frozen by their names, of which none passes the test."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import NothingFrozen
from autograd_inspector.model.wording import counted, summarize_names


def nothing_frozen(analysis: Analysis) -> Iterator[Problem]:
    """Where nothing else is frozen either, and the optimizer steps all that gets a gradient."""
    capture = analysis.capture
    events = capture.events_of(NothingFrozen)
    end = len(capture.ops)
    if not events or any(
        record.kind == "parameter" and not analysis.lifecycle.requires_grad_at(record.id, end)
        for record in capture.tensors
    ):
        return
    moved = sorted(analysis.optimized_trainable & analysis.received_gradient)
    for event in events if moved else ():
        names = [name_of(analysis, tensor) for tensor in moved]
        yield Problem(
            "info",  # The program may skip it by intention: only its text says what the loop is for.
            f"the test `{event.test}` likely matches no name of a parameter: nothing is frozen, and step() updates "
            f"{counted(len(moved), 'parameter')} ({summarize_names(names)})",
            "Use names that named_parameters() yields, such as "
            f"{', '.join(repr(name.partition('.')[2] or name) for name in names[:2])}, and check what is left: "
            "`[name for name, p in net.named_parameters() if p.requires_grad]`.",
            analysis.user_frames(event.site, "no name matches here"),
            (*event.words, *names),
        )
