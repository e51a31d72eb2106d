"""Where ``create_graph`` of a backward() comes from, where the call is given it by the name of a variable."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.capture.lines.sources import compiled, source_at
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.program_events import GraphFlagSet
from autograd_inspector.source.flags_passed import origin

_ARGUMENT = "create_graph"


def graph_flags(recording: Recording) -> Iterator[GraphFlagSet]:
    """One event for each place that called backward(create_graph=True); the frames around it are gone through."""
    told: set[int] = set()
    for run in recording.backwards:
        if run.create_graph and run.api == "backward" and run.site not in told:
            told.add(run.site)
            yield from _set(recording, run.index, run.site)


def _set(recording: Recording, number: int, site: int) -> Iterator[GraphFlagSet]:
    argument, place = _ARGUMENT, -1
    for code, lasti, library in recording.stacks.chains[site] if site >= 0 else ():
        source = None if library else source_at(code.co_filename)
        at = compiled(code, lasti, library=False)
        span = at.lineno, at.end_lineno, at.column, at.end_column
        found = None if source is None else origin(source, span, argument, place)
        if found is None:
            return
        if found.line:
            line = recording.stacks.of_code(code, found.line)
            yield GraphFlagSet(recording.backwards[number].start, line, found.variable, number)
            return
        argument, place = found.variable, found.place
