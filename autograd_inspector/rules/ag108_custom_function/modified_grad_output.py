"""AG108: custom autograd.Functions whose backward modifies the gradient that it is given."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import GradientModified
from autograd_inspector.model.remedy import OutOfPlace


def modifying(analysis: Analysis) -> Iterator[Problem]:
    """Each such line once: an error where autograd had that very tensor for another branch as well."""
    for (site, name), events in grouped(
        analysis.capture.events_of(GradientModified), lambda event: (event.site, event.function)
    ).items():
        shared = any(event.shared for event in events)
        place = analysis.capture.place(site)
        if not shared and place is not None and place.library:
            continue  # Nothing is wrong, and it is not the program's to change.
        yield Problem(
            "error" if shared else "info",
            f"{name}.backward modifies grad_output in place: "
            + (
                "autograd passes the same tensor to another branch of the graph, which gets the modified values"
                if shared
                else "that is safe only while autograd passes this tensor to no other node"
            ),
            f"Compute a new tensor in {name}.backward, or work on a copy (`grad_output.clone()`).",
            analysis.places((site, "gradient modified here"), *((op, "applied here") for op in _calls(analysis, name))),
            (name,),
            cures=at_line(analysis, site, OutOfPlace),
            safe=True,
        )


def _calls(analysis: Analysis, name: str) -> list[Op]:
    return [op for op in analysis.capture.ops if op.has(Trait.FUNCTION) and op.name == f"{name}.apply"][:1]
