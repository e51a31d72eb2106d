"""Where the class of an optimizer makes its own ``param_groups``, read off the source of its methods."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.capture.lines.sources import source_at
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.program_events import GroupsMade
from autograd_inspector.source.attributes_made import AttributesMade

_GROUPS = "param_groups"


def groups_made(recording: Recording) -> Iterator[GroupsMade]:
    """One event for each optimizer whose class does; one that takes those of another optimizer makes none."""
    for record in recording.optimizers.values():
        codes = recording.steppers.get((record.module, record.type), ())
        for filename in dict.fromkeys(code.co_filename for code in codes):
            source = source_at(filename)
            line = 0 if source is None else source.index(AttributesMade).line(record.type, _GROUPS)
            around = [code for code in codes if code.co_filename == filename and code.co_firstlineno <= line]
            if around:
                site = recording.stacks.of_code(max(around, key=lambda code: code.co_firstlineno), line)
                yield GroupsMade(len(recording.ops), site, record.id, record.type)
                break
