"""Compiled code that is an optimizer's step: torch calls no hook of the step's there."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

from torch.optim import Optimizer

from autograd_inspector.capture.compiled.module_sources import Scope, value_of
from autograd_inspector.capture.compiled.plan import Plan
from autograd_inspector.capture.lines.callables import code_of
from autograd_inspector.capture.lines.frame_locals import locals_of
from autograd_inspector.capture.lines.frames import outwards
from autograd_inspector.capture.observers.optimizers.steps import Steps
from autograd_inspector.capture.torch_private.compiled import COMPILED_CALL, is_dynamos_frame

_GROUPS = ".param_groups"


def stepped_by(plan: Plan, frame: FrameType) -> Optimizer | None:
    """The optimizer whose step a graph was captured from; None where it was not."""
    groups = [source.partition(_GROUPS)[0] for source in plan.sources if _GROUPS in source]
    scope = Scope.of(frame) if groups else None
    for source in dict.fromkeys(groups):
        optimizer = value_of(source, scope) if scope is not None else None
        if isinstance(optimizer, Optimizer) and any(code in plan.traced for code in _step_codes(type(optimizer))):
            return optimizer
    return None


def _step_codes(kind: Any) -> Iterator[CodeType]:
    """The code of the step itself, beneath what torch puts around it."""
    step = kind.step
    while step is not None:
        inner = getattr(step, "__wrapped__", None)
        code = code_of(step)
        if inner is None and code is not None:
            yield code
        step = inner


def step_frame(frame: FrameType) -> tuple[Optimizer, FrameType] | None:
    """The innermost step that runs in a compiled call as code of its own, and its frame."""
    for each in outwards(frame):
        code = each.f_code
        if code.co_name == COMPILED_CALL and is_dynamos_frame(each):
            return None
        if code.co_varnames[:1] == ("self",):
            owner = dict(locals_of(each)).get("self")
            if isinstance(owner, Optimizer) and any(_same(step, code) for step in _step_codes(type(owner))):
                return owner, each
    return None


def _same(one: CodeType, other: CodeType) -> bool:
    """Whether Dynamo made code of another, or of what comes after a break in it."""
    return (one.co_filename, one.co_firstlineno) == (other.co_filename, other.co_firstlineno)


class Stepping:
    """The step that runs as compiled code. It may be several graphs, or none: where no parameter has a gradient."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._open: tuple[Optimizer, FrameType] | None = None

    def begins(self, optimizer: Optimizer, frame: FrameType) -> None:
        """A graph of its step is about to run, in that frame or what it called."""
        if self._open is not None and self._open[1] is not frame:
            self.ends()
        if self._open is None:
            self._open = optimizer, frame
            self._steps.begin_compiled(optimizer, frame)

    def meets(self, frame: FrameType) -> bool:
        """Whether what runs in that frame, beside all graphs, is a part of a step. It may be what begins the step."""
        running = step_frame(frame)
        if running is None:
            self.ends()
            return False
        self.begins(*running)
        return True

    def ends(self, unless: Optimizer | None = None) -> None:
        """Whatever step was open is over, unless it is that optimizer's."""
        if self._open is not None and (unless is None or self._open[0] is not unless):
            (optimizer, frame), self._open = self._open, None
            self._steps.end_compiled(optimizer, frame)
