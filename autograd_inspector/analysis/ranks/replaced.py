"""Parameters that a wrapper has wrapped, and whose place in the model another one has taken since."""

from __future__ import annotations

from autograd_inspector.model.capture import Capture
from autograd_inspector.model.program_events import ParameterRegistered, ReplicasWrapped


def replaced(capture: Capture, wrapper: ReplicasWrapped) -> dict[int, ParameterRegistered]:
    """Parameter that the model has no longer -> what took its place: ``head.weight = embedding.weight``."""
    registered = capture.events_of(ParameterRegistered)
    found: dict[int, ParameterRegistered] = {}
    for tensor in wrapper.tensors:
        if capture.owners.get(tensor, -1) >= 0 or capture.tensors[tensor].names:
            continue
        first = next((event for event in registered if event.tensor == tensor and event.at <= wrapper.at), None)
        later = [event for event in registered if event.at >= wrapper.at and event.tensor != tensor]
        taken = [event for event in later if first is not None and event.api == first.api]
        if taken:
            found[tensor] = taken[0]
    return found
