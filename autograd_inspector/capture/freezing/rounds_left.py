"""Where the program leaves a round of training between its backward() and its step().

That no step came is observed; the source locates the statement, where there is one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from autograd_inspector.capture.lines.sources import source_at
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.program_events import RoundLeft
from autograd_inspector.source.exits import Exits


def rounds_left(recording: Recording) -> Iterator[RoundLeft]:
    """One event for each statement between a backward(), which no step followed before its next call, and a step."""
    stepped = sorted(step.at for step in recording.steps)
    before: dict[int, int] = {}
    sites: dict[int, None] = {}
    for run in recording.backwards if stepped else ():
        if run.completed:
            last = before.get(run.site)
            if last is not None and run.stale and bisect_left(stepped, last) == bisect_left(stepped, run.start):
                sites[run.site] = None
            before[run.site] = run.end
    lines = dict.fromkeys(recording.stacks.line_of(step.site) for step in recording.steps if step.site >= 0)
    for site in sites:
        for line in _between(recording, site, list(lines)) if site >= 0 else ():
            yield RoundLeft(len(recording.ops), line, site)


def _between(recording: Recording, run: int, steps: list[tuple[str, int]]) -> Iterator[int]:
    stacks = recording.stacks
    codes = [code for code, _, library in stacks.chains[run] if not library]
    file, first = stacks.line_of(run)
    source = source_at(file) if codes else None
    if source is None:
        return
    scope = source.scope_at(first)
    ends = [line for name, line in steps if name == file and line > first and source.scope_at(line) is scope]
    for line in source.index(Exits).within(scope, first, min(ends)) if ends else ():
        yield stacks.of_code(codes[0], line)
