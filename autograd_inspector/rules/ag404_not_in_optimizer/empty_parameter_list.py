"""AG404 where an optimizer was given nothing at all, although there are parameters to give."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.parameter_origins import frozen_here
from autograd_inspector.analysis.optimizers.empty_parameter_list import waiting
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import ParametersRefused
from autograd_inspector.model.torch_errors import TorchError, says
from autograd_inspector.model.wording import summarize_names


def given_nothing(analysis: Analysis) -> Iterator[Problem]:
    """A generator that was used up before, or a filter that let nothing through."""
    parameters = waiting(analysis) if says(analysis.capture.error, TorchError.NO_PARAMETERS) else ()
    refused = analysis.capture.events_of(ParametersRefused)
    if not parameters or not refused:
        return
    tensors = analysis.capture.tensors
    trainable = [t for t in parameters if tensors[t].requires_grad]
    names = [name_of(analysis, t) for t in trainable or parameters]
    if trainable:
        why = f"although {summarize_names(names)} require grad: the iterator is already exhausted, or a filter matches nothing"
        fix = "parameters() is a generator and can be iterated only once: call it again for the optimizer, or keep list(net.parameters())."
    else:
        why = f"and {summarize_names(names)} are all frozen: filtering by requires_grad leaves none of them"
        fix = "Unfreeze the parameters to train (requires_grad_(True)) before the optimizer is built."
    yield Problem(
        "error",
        f"{refused[-1].api} got no parameters, {why}",
        fix,
        (
            *analysis.user_frames(refused[-1].site, "no parameters passed here"),
            *(() if trainable else frozen_here(analysis, parameters)),
        ),
        tuple(names),
    )
