"""Where the program put together the parameters that an optimizer was given under a name, read off the source."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.capture.freezing.bound_before import bound_before
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.program_events import OptimizerCreated, ParametersCollected, ParametersRefused
from autograd_inspector.source.collected import Collected

_MOST = 4
"""Lines for one optimizer; where there are more, none tells much."""


def collected_parameters(recording: Recording) -> Iterator[ParametersCollected]:
    """One event for each statement, of the optimizers that were made and of those that refused what they were given."""
    events = [event for event in recording.events if isinstance(event, (OptimizerCreated, ParametersRefused))]
    at = {event.site: event.at for event in reversed(events) if event.site >= 0}
    for site, first in at.items():
        found = list(dict.fromkeys(bound_before(recording, site, Collected.names, adding=True)))
        for statement, conditional in found if len(found) <= _MOST else ():
            yield ParametersCollected(first, statement, site, conditional)
