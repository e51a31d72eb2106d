"""AG601 where ranks exchange activations by messages, and no gradient goes the other way."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.sent_graphs import sent_graphs
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import summarize_names


def graphs_sent(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that receives."""
    for found in sent_graphs(analysis.capture, analysis.reductions):
        names, send, receive = names_of(analysis, found.tensors), found.sent.name, found.received.name
        yield Problem(
            "warning",
            f"{send} and {receive} exchange values of the forward, and autograd does not record it: what arrives is a constant, and no "
            f"gradient comes back for what was sent. The gradients of {summarize_names(names)} omit how the other ranks' losses, and "
            "their results that come back, depend on it",
            "Exchange in an autograd.Function whose backward sends the gradients the opposite way. Or use "
            "torch.distributed.nn.functional.all_to_all, which does so.",
            analysis.places(
                (found.received, f"{receive} called here"),
                (found.sent, f"{send} called here"),
                (found.run, "backward() called here"),
            ),
            tuple(names),
            ops=(found.received.at,),
        )
