"""AG413: updates that the program takes back, for it restores a parameter too late."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.protocol import brought_forward
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.undone_updates import undone_updates
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def undone(analysis: Analysis) -> Iterator[Problem]:
    """A perturbation for an attack, or for a second gradient, that is taken back behind the step."""
    for found in undone_updates(analysis):
        names = names_of(analysis, found.tensors)
        yield Problem(
            "warning",
            f"the update of {summarize_names(names)} is lost: the program writes the values back that it saved before "
            f"the perturbation, and does so after step() has moved {agree(names, 'it', 'them')}",
            "Restore the saved values before step(), right after the last backward().",
            analysis.places(
                (found.restored, "saved values written back here, too late"),
                (found.step, "step() called here"),
                (found.perturbed, "perturbed here"),
                (found.kept, "saved here"),
            ),
            tuple(names),
            ops=(found.step.op,),
            cures=tuple(brought_forward(analysis, found.restored.site, found.step.site)),
        )
