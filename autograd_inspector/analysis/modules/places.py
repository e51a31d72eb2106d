"""Where a module stood last: a model that is called by itself may become a part of another one later."""

from __future__ import annotations

from msgspec.structs import replace

from autograd_inspector.model.capture import Capture
from autograd_inspector.model.program_events import ModelContained, ModeSwitched

Place = tuple[int, str]
"""(model, path)."""


class LastPlaces:
    """What befell a model by itself befell a part of the one that it is in: both have one place here."""

    def __init__(self, capture: Capture) -> None:
        events = capture.events_of(ModelContained)
        self._moved = {event.model: event for event in reversed(events) if event.model >= 0 and event.into >= 0}

    def of(self, model: int, path: str) -> Place:
        """The place of a module in the outermost model that it became a part of."""
        passed = {model}
        while (event := self._moved.get(model)) is not None and event.into not in passed:
            model, path = event.into, f"{event.path}.{path}" if path else event.path
            passed.add(model)
        return model, path

    def switched(self, switch: ModeSwitched) -> ModeSwitched:
        """A switch, told of the last place of what was switched."""
        model, path = self.of(switch.model, switch.path)
        return switch if model == switch.model else replace(switch, model=model, path=path)
