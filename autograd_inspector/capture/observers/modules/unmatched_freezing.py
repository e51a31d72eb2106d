"""Loops that were to freeze parameters by their names, that ran to their end, and that froze none."""

from __future__ import annotations

from types import CodeType

from autograd_inspector.capture.lines.sources import compiled, source_at
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.program_events import NothingFrozen
from autograd_inspector.source.freezing_loops import FreezingLoops


def note_unmatched_freezing(recording: Recording) -> None:
    """One event for each test that held for no name.

    That the loop was run is seen by what came behind it in the same function, that it froze nothing by no change of
    ``requires_grad`` on a line of it.
    """
    if not recording.steps:
        return
    frames: dict[str, dict[tuple[int, int], tuple[CodeType, int]]] = {}
    for chain in recording.stacks.chains:
        for code, lasti, library in chain:
            if not library:
                frames.setdefault(code.co_filename, {})[id(code), lasti] = code, lasti
    changed = {recording.stacks.line_of(change.site) for change in recording.requires_grad_changes}
    for filename, met in frames.items():
        source = source_at(filename)
        loops = source.index(FreezingLoops).loops if source is not None else ()
        if source is None or not loops:
            continue
        seen = [(code, compiled(code, lasti, library=False).lineno) for code, lasti in met.values()]
        for loop in loops:
            scope = source.scope_at(loop.line)
            behind = [
                code for code, line in seen if loop.after <= line <= loop.until and source.scope_at(line) is scope
            ]
            if behind and not any((filename, line) in changed for line in loop.freezing):
                site = recording.stacks.of_code(behind[0], loop.line)
                recording.events.append(NothingFrozen(len(recording.ops), site, loop.test, loop.words))
