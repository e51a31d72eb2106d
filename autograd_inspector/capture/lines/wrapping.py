"""Where a function got its grad mode: its decorator, or the call that wraps it (``torch.no_grad()(self._extract)``)."""

from __future__ import annotations

from types import CodeType
from typing import Literal

from autograd_inspector.capture.lines.sources import source_at
from autograd_inspector.capture.lines.stacks import USER, Stacks, classify
from autograd_inspector.source.switches import Switches

Wrapped = Literal["", "wrapped", "defined"]


def switched_at(stacks: Stacks, code: CodeType) -> tuple[int, Wrapped]:
    """The site of the decorator; of a function that has none, of the line that wraps it, else of its definition."""
    source = source_at(code.co_filename) if classify(code.co_filename) == USER else None
    definition = None if source is None else source.definition_at(code.co_firstlineno)
    if source is None or (definition is not None and definition.decorator_list):
        return stacks.of_code(code), ""
    if definition is None:  # A lambda: it stands where it is wrapped.
        return stacks.of_code(code), "wrapped"
    line = source.index(Switches).line_of(code.co_name)
    return stacks.of_code(code, line or None), "wrapped" if line else "defined"
