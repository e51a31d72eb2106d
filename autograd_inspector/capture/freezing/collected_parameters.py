"""Where the program put together the parameters that an optimizer was given under a name, read off the source."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.capture.lines.sources import compiled, source_at, span_at
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
        found = list(dict.fromkeys(_statements(recording, site)))
        for statement, conditional in found if len(found) <= _MOST else ():
            yield ParametersCollected(first, statement, site, conditional)


def _statements(recording: Recording, site: int) -> Iterator[tuple[int, bool]]:
    """A name that the function got as an argument leads on to its caller."""
    places: list[tuple[int, str]] | None = None
    for code, lasti, library in recording.stacks.chains[site]:
        source = None if library or lasti < 0 else source_at(code.co_filename)
        if source is None:
            if places is None:
                continue
            return
        index, span = source.index(Collected), span_at(compiled(code, lasti, library=False))
        names = (
            index.names(span)
            if places is None
            else [each for place, name in places for each in index.handed(span, place, name)]
        )
        for name in names:
            for line, conditional in index.before(span, name):
                yield recording.stacks.of_code(code, line), conditional
        places = [(place, name) for name in names if (place := index.place(span, name)) >= 0]
        if not places:
            return
