"""Puts what hears of graphs in Dynamo's way to its backends, once and for good."""

from __future__ import annotations

from autograd_inspector.capture.compiled.listener import heard, left
from autograd_inspector.capture.torch_private.compiled import BACKEND_CALL, GRAPH_LEFT

_HEARD = "_autograd_inspector"


def listen() -> None:
    """Hear from now on of each graph, and of what is refused."""
    for place, hearing in ((BACKEND_CALL, heard), (GRAPH_LEFT, left)):
        owner = place.owner()
        if owner is not None and not hasattr(vars(owner)[place.name], _HEARD):
            listening = hearing(vars(owner)[place.name])
            setattr(listening, _HEARD, True)
            setattr(owner, place.name, listening)
