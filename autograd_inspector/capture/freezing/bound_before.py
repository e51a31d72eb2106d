"""The statements that bound a name that a line reads, in its function or in a caller that handed it on."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from autograd_inspector.capture.lines.sources import compiled, source_at, span_at
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.source.collected import Collected
from autograd_inspector.source.index import Span

Names = Callable[[Collected, Span], list[str]]


def bound_before(recording: Recording, site: int, names_at: Names, *, adding: bool) -> Iterator[tuple[int, bool]]:
    """(site, whether it stands under a condition) of each; with ``adding`` what added to a list of the name, too.

    ``names_at`` tells the names that the program's innermost call at the site reads.
    """
    places: list[tuple[int, str]] | None = None
    for code, lasti, library in recording.stacks.chains[site]:
        source = None if library or lasti < 0 else source_at(code.co_filename)
        if source is None:
            if places is None:
                continue
            return
        index, span = source.index(Collected), span_at(compiled(code, lasti, library=False))
        names = (
            names_at(index, span)
            if places is None
            else [each for place, name in places for each in index.handed(span, place, name)]
        )
        for name in names:
            for line, conditional in index.before(span, name, adding=adding):
                yield recording.stacks.of_code(code, line), conditional
        places = [(place, name) for name in names if (place := index.place(span, name)) >= 0]
        if not places:
            return
