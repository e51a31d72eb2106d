"""``torch.cond()`` and its like in a graph that Python runs: torch makes graphs of its own of what they are given.

None of that passes through the recorder. So the op is run without it, and then each of its graphs once without data,
which shows how the result depends on what it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from autograd_inspector.capture.compiled.plan import Plan, Step
from autograd_inspector.capture.observers.calls.arguments import gather
from autograd_inspector.capture.observers.calls.ops import Recorder
from autograd_inspector.capture.observers.compiled.apart import apart
from autograd_inspector.capture.observers.compiled.bodies import Run, inside_all
from autograd_inspector.capture.observers.compiled.shadow import Shadow, can_stand_in
from autograd_inspector.capture.torch_private.modes import DisableTorchFunction
from autograd_inspector.capture.undisturbed.mode_stack import put_on, take_off
from autograd_inspector.interrupts import is_interrupt

RunWith = Callable[[Shadow], Run]


def run_apart(recorder: Recorder, plan: Plan, step: Step, call: Callable[[], Any], args: Any, running: RunWith) -> Any:
    """What the op returns. ``running``: by which its graphs are run with a shadow."""
    tensors: list[Tensor] = []
    gather((args,), tensors)
    shadow = recorder.guard.run(Shadow, recorder.recording, tensors) if can_stand_in(tensors) else None
    was_on = take_off(recorder)
    try:
        result = call()
    finally:
        if was_on:
            put_on(recorder)
    if shadow is not None:
        try:
            with apart(recorder):
                _describe(plan, step, args, shadow, result, running(shadow))
        except Exception as failure:
            if is_interrupt(failure):
                raise
            recorder.on_failure(failure)
    return result


def _describe(plan: Plan, step: Step, args: Any, shadow: Shadow, result: Any, run: Run) -> None:
    fakes = shadow.stand_ins()
    stand_ins = {id(real): fake for real, fake in zip(shadow.given, fakes, strict=True)}
    with shadow.mode:
        made = shadow.stand_in_for(step, inside_all(plan, step, _replaced(args, stand_ins), run, shadow.like))
    with DisableTorchFunction():
        shadow.joined(made, result)


def _replaced(values: Sequence[Any], stand_ins: dict[int, Any]) -> list[Any]:
    return [
        _replaced(each, stand_ins) if isinstance(each, (tuple, list)) else stand_ins.get(id(each), each)
        for each in values
    ]
