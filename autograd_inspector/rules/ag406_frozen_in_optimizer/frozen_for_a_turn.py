"""AG406: a part of what an optimizer trains, frozen for the turn of another one and for good."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.frozen_for_a_turn import frozen_for_a_turn
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def frozen_past_the_turn(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that freezes."""
    for found in frozen_for_a_turn(analysis):
        names, turn = names_of(analysis, found.tensors), analysis.capture.placement.optimizers[found.turn.optimizer]
        own, other = variable(analysis, found.optimizer), variable(analysis, turn)
        them = agree(names, "it", "them")
        yield Problem(
            "warning",
            f"{summarize_names(names)} {agree(names, 'was', 'were')} frozen before {other}.step() and never unfrozen: the last "
            f"{len(found.steps)} steps of {own} do not update {them}, and a term of its loss, which trained {them} before, is a "
            "constant",
            f"Call requires_grad_(True) on {them} after {other}.step(). If a context manager does so, let it keep a list: a "
            "generator of parameters can be iterated only once.",
            analysis.places(
                (found.frozen, "frozen here"),
                (found.turn, "the turn that it was frozen for ends here"),
                (found.term, "a constant term of the loss, computed here"),
                (found.steps[0], f"step() does not update {them} from here on"),
            ),
            tuple(names),
            ops=(found.steps[0].op, found.term.index),
        )
