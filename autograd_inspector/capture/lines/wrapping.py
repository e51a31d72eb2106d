"""Where a function got its grad mode: its decorator, or the call that wraps it (``torch.no_grad()(self._extract)``)."""

from __future__ import annotations

from types import CodeType, FrameType
from typing import Literal

from autograd_inspector.capture.lines.sources import source_at
from autograd_inspector.capture.lines.stacks import USER, Stacks, classify
from autograd_inspector.source.switches import Conditions, Switches

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


def condition_at(stacks: Stacks, frame: FrameType | None) -> int:
    """The site that sets the variable by which a frame's call of ``set_grad_enabled`` is told the mode; -1: none."""
    code = None if frame is None else frame.f_code
    source = source_at(code.co_filename) if code is not None and classify(code.co_filename) == USER else None
    line = source.index(Conditions).set_before(frame.f_lineno) if source is not None and frame is not None else 0
    return stacks.of_code(code, line) if line and code is not None else -1
