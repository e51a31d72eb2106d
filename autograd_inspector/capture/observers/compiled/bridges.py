"""What Python does between the graphs of one compiled call, where Dynamo could not follow the code.

It runs without the recorder, for Dynamo would compile that into what comes next. What is known of it is what broke the
graph, which Dynamo tells, and which tensors the next graph is given.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import FrameType
from typing import Any

from torch import Tensor

from autograd_inspector.capture.compiled.plan import OUTPUT, PLACEHOLDER, Plan, Ref
from autograd_inspector.capture.lines.frame_locals import locals_of
from autograd_inspector.capture.lines.sources import line_at
from autograd_inspector.capture.observers.calls.arguments import gather
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import is_leaf, needs_grad
from autograd_inspector.model.op import Trait

RESUMED = "torch_dynamo_resume_in_"
_METHOD = re.compile(r"Tensor\.(?P<name>item|tolist|numpy)\(\)|`(?P<quoted>tolist|item|numpy)\(\)`")
_BETWEEN = "code between compiled graphs"
_LOCAL = re.compile(r"L\['[^']+'\]")
_KEPT = "___stack"
_MOST_NOTES = 8


class Bridges:
    """Of the compiled calls that run, what the last graph left, and what took its results out of torch."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._left: tuple[int, ...] = ()
        self._export = -1
        self._noted = 0

    def over(self) -> None:
        """No compiled call runs any more."""
        self._left, self._export = (), -1

    def left(self, plan: Plan, results: Any, outer: int) -> None:
        """A graph has returned, and the code goes on in Python."""
        recording = self._recording
        reason, frames = plan.breaks
        tensors: list[Tensor] = []
        gather((results,), tensors)
        self._left, self._export = tuple([recording.id_of(each) for each in tensors]), -1
        if not reason:
            return
        self._note(reason, plan)
        method = _METHOD.search(reason)
        last = _last(plan, results) if method is not None else None
        if method is not None and last is not None:
            name = method["name"] or method["quoted"]
            site = recording.stacks.of_frames(frames, outer) if frames else outer
            self._export = recording.append(name, (recording.id_of(last),), traits=int(Trait.EXPORT), site=site)

    def arrive(self, plan: Plan, args: Sequence[Any], outer: int) -> None:
        """A graph is about to run: what it is given and nothing has made comes from the Python before it."""
        recording = self._recording
        if not plan.code.co_name.startswith(RESUMED) or not self._left:
            return
        sources = [step.source for step in plan.steps if step.kind == PLACEHOLDER]
        for source, each in zip(sources, args, strict=False):
            if not isinstance(each, Tensor) or recording.registry.entry_of(each) is not None:
                continue
            if needs_grad(each) and not is_leaf(each):
                self._made(_BETWEEN, self._left, each, outer)
            elif self._export >= 0 and not needs_grad(each) and _LOCAL.fullmatch(source):
                self._made("from_numpy", (), each, outer)
                recording.scalar_reentries.append((len(recording.ops) - 1, self._export))

    def numbers(self, frame: FrameType) -> dict[float, int]:
        """The numbers that the code after a break goes on with, where a value left torch there -> the op by which."""
        if self._export < 0 or not frame.f_code.co_name.startswith(RESUMED):
            return {}
        held = (value for name, value in locals_of(frame) if name.startswith(_KEPT) and type(value) is float)
        return dict.fromkeys((value for value in held if value not in {0.0, 1.0}), self._export)

    def _made(self, name: str, inputs: tuple[int, ...], result: Tensor, site: int) -> None:
        index = len(self._recording.ops)
        number = self._recording.registry.enter(result, index, index).tensor
        self._recording.append(name, inputs, (number,), site=site)

    def _note(self, reason: str, plan: Plan) -> None:
        frames = [frame for frame in plan.breaks[1] if not frame[2]]
        if not frames or self._noted == _MOST_NOTES:
            return
        code, at, _ = frames[0]
        where = f"{code.co_filename.replace(chr(92), '/').rpartition('/')[2]}:{line_at(code, at)}"
        what = reason.strip().splitlines()[0].rstrip(".")
        before = len(self._recording.notes)
        self._recording.note(f"torch.compile broke the graph at {where}: {what}.")
        self._noted += len(self._recording.notes) - before


def _last(plan: Plan, results: Any) -> Tensor | None:
    """Of the results the one that was computed last: what broke the graph was about to use it."""
    returned = plan.steps[-1].args[0] if plan.steps and plan.steps[-1].kind == OUTPUT else ()
    made = [
        (each.step, result)
        for each, result in zip(returned, results, strict=False)
        if isinstance(each, Ref) and isinstance(result, Tensor)
    ]
    return max(made, key=lambda pair: pair[0])[1] if made else None
