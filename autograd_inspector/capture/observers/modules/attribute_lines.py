"""Where a class of the program's gives its instances an attribute."""

from __future__ import annotations

from autograd_inspector.capture.lines.holders import methods_of
from autograd_inspector.capture.lines.sources import source_at
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.source.attributes_made import AttributesMade


def made_at(recording: Recording, kind: type, name: str) -> int:
    """The site of the assignment in a method of the class; -1 where none is found."""
    for code in methods_of(kind):
        source = source_at(code.co_filename)
        line = 0 if source is None else source.index(AttributesMade).line(kind.__name__, name)
        if line:
            return recording.stacks.of_code(code, line)
    return -1
