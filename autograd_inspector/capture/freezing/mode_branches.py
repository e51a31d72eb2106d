"""The branches that a module's mode chooses, of the functions that ran, read off their source."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.capture.lines.sources import definition_of, source_at
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.program_events import ModeBranchRead
from autograd_inspector.source.mode_branches import ModeBranches

_MODE = "training"


def mode_branches(recording: Recording) -> Iterator[ModeBranchRead]:
    """One event for each branch of a function that reads ``training``."""
    codes = dict.fromkeys(code for chain in recording.stacks.chains for code, _, library in chain if not library)
    for code in codes:
        source = source_at(code.co_filename) if _MODE in code.co_names else None
        scope = None if source is None else definition_of(code)
        for found in source.index(ModeBranches).within(scope) if source is not None and scope is not None else ():
            site = recording.stacks.of_code(code, found.line)
            yield ModeBranchRead(len(recording.ops), site, found.first - found.line, found.last - found.line)
