"""A custom Function that keeps its own result as an attribute of its ``ctx``."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.event import RetainedGraph
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import OutputKeptOnContext
from autograd_inspector.model.rewrites import DetachAssigned


def kept_by_context(analysis: Analysis) -> Iterator[Problem]:
    """The line of the forward that sets the attribute. That results piled up was seen, or is only to be feared."""
    piled = {_maker(analysis, kept) for kept in analysis.capture.retained_graphs}
    for event in analysis.capture.events_of(OutputKeptOnContext):
        calls = [op for op in analysis.capture.ops if op.has(Trait.FUNCTION) and op.name == f"{event.function}.apply"]
        seen = f"{event.function}.apply" in piled
        yield Problem(
            "warning" if seen else "info",
            f"{event.function}.forward stores its result as `{event.api}`: the result and its graph node refer to each other, so "
            f"{'the graphs of several steps stay alive' if seen else 'the graph stays alive'} until Python's cyclic garbage "
            "collector runs",
            f"Pass the result to `ctx.save_for_backward`, or keep a detached copy: `{event.api} = ....detach()`.",
            analysis.places((event, "kept here"), *((op, "applied here") for op in calls[:1])),
            (event.function, event.api),
            ops=tuple(op.index for op in calls[:1]),
            cures=tuple((DetachAssigned(place, event.api),) for place in analysis.user_frames(event.site, "")[:1]),
        )


def _maker(analysis: Analysis, kept: RetainedGraph) -> str:
    made: Op = analysis.capture.ops[analysis.capture.tensors[kept.tensor].birth]
    return made.name if made.has(Trait.FUNCTION) else ""
