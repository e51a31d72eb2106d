"""AG411: buffers that are computed of the data in eval mode as well."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.updated_in_eval import updated_in_eval
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def updates_in_eval(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each module: an info, for a program may want to follow all data that it sees."""
    for found in updated_in_eval(analysis):
        layer, names = analysis.capture.display_names.layer(found.call), names_of(analysis, found.buffers)
        yield Problem(
            "info",
            f"`{found.op.name}` updates {summarize_names(names)} in eval mode as well: {layer} was evaluated between two "
            f"training steps, and the next loss is computed with what the evaluation data changed",
            f"If only training data should change {agree(names, 'it', 'them')}, update {agree(names, 'it', 'them')} under "
            "`if self.training:`.",
            analysis.places((found.op, "updated in eval mode here"), (found.call, "called in eval mode here")),
            (layer, *names),
            ops=(found.op.index,),
        )
