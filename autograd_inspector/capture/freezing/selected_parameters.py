"""Where the program picked the parameters of an optimizer, read off the source around the line that made it."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.capture.lines.sources import compiled, source_at
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.program_events import OptimizerCreated, ParametersRefused, ParametersSelected
from autograd_inspector.source.selections import Selections

_MOST = 4
"""Lines for one optimizer; where there are more, none tells much."""


def selected_parameters(recording: Recording) -> Iterator[ParametersSelected]:
    """One event for each line, of the optimizers that were made and of those that refused what they were given."""
    for event in list(recording.events):
        if not isinstance(event, (OptimizerCreated, ParametersRefused)) or event.site < 0:
            continue
        for code, lasti, library in recording.stacks.chains[event.site]:
            source = None if library else source_at(code.co_filename)
            if source is None:
                continue
            near, at = source.index(Selections), compiled(code, lasti, library=False).lineno
            for lines, ordered in ((near.for_call(at), False), (near.orders_for_call(at), True)):
                for line in lines if len(lines) <= _MOST else ():
                    yield ParametersSelected(event.at, recording.stacks.of_code(code, line), event.site, ordered)
            break
