"""AG411: ``model.eval`` without parentheses, before an evaluation in which train mode shows."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.evaluated_in_train_mode import evaluated_in_train_mode
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Substitute
from autograd_inspector.rules.ag411_training_mode.teacher_in_train_mode import effects, layers

_NAMED = 3


def eval_not_called(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each such statement."""
    for found in evaluated_in_train_mode(analysis):
        name = analysis.capture.display_names.layer(found.call)
        yield Problem(
            "warning",
            f"{name} is evaluated in train mode, because eval() is not called: {effects(analysis, found)}",
            "Write the parentheses: `eval()`. Without them the method is not called.",
            analysis.places(
                (found.statement, "eval is not called here"),
                (found.call, "called in train mode and without gradients here"),
            ),
            (name, "eval", *layers(analysis, (*found.dropping, *found.counting))[:_NAMED]),
            ops=tuple(op.index for op in found.ops[:1]),
            cures=at_line(analysis, found.statement.site, lambda place: Substitute(place, "", "{}()")),
        )
