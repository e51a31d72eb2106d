"""AG305 where a module's zero_grad() clears all that it knows, and layers in a plain list of it are not among that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.program_events import LayersHeld, ModuleCleared, ZeroGradCalled
from autograd_inspector.model.remedy import Register, Remedies


def unknown_to_module(
    analysis: Analysis, tensors: Iterable[int], others: Iterable[ZeroGradCalled | ModuleCleared]
) -> LayersHeld | None:
    """The container that has these parameters, where a module was cleared without them."""
    if not any(isinstance(call, ModuleCleared) for call in others):
        return None
    own = set(tensors)
    return next((e for e in analysis.capture.events_of(LayersHeld) if own <= {*e.tensors}), None)


def hidden(held: LayersHeld) -> str:
    """Why the module does not clear them."""
    return f". {held.api} is a plain Python container, and zero_grad() of the module does not clear what is in it"


REGISTER = "Hold the layers in an nn.ModuleList, or call zero_grad() of the optimizer."


def registered(analysis: Analysis, held: LayersHeld) -> Iterator[Remedies]:
    """The container is a module."""
    yield from at_line(analysis, held.site, Register)
