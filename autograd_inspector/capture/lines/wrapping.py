"""Where a function got its grad mode: its decorator, or the call that wraps it (``torch.no_grad()(self._extract)``)."""

from __future__ import annotations

from types import CodeType

from autograd_inspector.capture.lines.cells import lines_of
from autograd_inspector.capture.lines.sources import source_at
from autograd_inspector.capture.lines.stacks import USER, Stacks, classify
from autograd_inspector.source.switches import Switches


def switched_at(stacks: Stacks, code: CodeType) -> int:
    """The site of the decorator; of a function that has none, of the line that wraps it, else of its definition."""
    lines = lines_of(code.co_filename) if classify(code.co_filename) == USER else []
    first = lines[code.co_firstlineno - 1].lstrip() if 0 < code.co_firstlineno <= len(lines) else "@"
    source = None if first.startswith("@") else source_at(code.co_filename)
    line = 0 if source is None else source.index(Switches).line_of(code.co_name)
    return stacks.of_code(code, line or None)
