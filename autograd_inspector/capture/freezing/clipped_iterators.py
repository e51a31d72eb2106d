"""Where the program made what torch's clipping is given under a name, read off the source around the call."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.capture.lines.sources import compiled, source_at
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.program_events import ClippedIterator
from autograd_inspector.model.torch_names import CLIPPING
from autograd_inspector.source.iterators_made import IteratorsMade

_MOST = 2
"""Lines for one call; where there are more, none tells much."""


def clipped_iterators(recording: Recording) -> Iterator[ClippedIterator]:
    """One event for each line, of each call that clips."""
    sites = dict.fromkeys(region.site for region in recording.regions if region.library == CLIPPING)
    for site in sites:
        for code, lasti, library in recording.stacks.chains[site] if site >= 0 else ():
            source = None if library else source_at(code.co_filename)
            if source is None:
                continue
            lines = source.index(IteratorsMade).given_at(compiled(code, lasti, library=False).lineno)
            for line in lines if len(lines) <= _MOST else ():
                yield ClippedIterator(len(recording.ops), site, recording.stacks.of_code(code, line))
            break
