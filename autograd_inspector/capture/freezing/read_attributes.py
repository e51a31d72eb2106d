"""Where the program stores what it reads the ``.grad`` of by an attribute, and finds none: ``self.activation.grad``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograd_inspector.capture.lines.sources import compiled, source_at
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.program_events import TensorHeld
from autograd_inspector.source import fragments
from autograd_inspector.source.stores import Stores
from autograd_inspector.source.writing import written


def read_attributes(recording: Recording) -> Iterator[TensorHeld]:
    """One event for each tensor that is no leaf, if one line of the file alone stores into the attribute."""
    told: set[int] = set()
    for read in recording.grad_reads:
        if read.gradient >= 0 or read.leaf or read.site < 0 or read.tensor in told:
            continue
        for code, lasti, library in recording.stacks.chains[read.site][:1]:
            source = None if library else source_at(code.co_filename)
            path = _read_path(compiled(code, lasti, library=False).expression)
            stores = source.index(Stores).into(f".{path.rpartition('.')[2]}") if source is not None and path else []
            if len({store.line for store in stores}) == 1:
                told.add(read.tensor)
                site = recording.stacks.of_code(code, stores[0].line)
                yield TensorHeld(read.at, site, read.tensor, "", path.rpartition(".")[2], path)


def _read_path(text: str) -> str:
    """``self.activation`` of ``self.activation.grad``; "" where it is no attribute."""
    match fragments.expression(text):
        case ast.Attribute(attr="grad", value=ast.Attribute() as owner) if fragments.is_path(owner):
            return written(owner)
    return ""
