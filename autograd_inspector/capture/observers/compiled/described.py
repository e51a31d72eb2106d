"""A graph that is run once more, with what stands in for its inputs."""

from __future__ import annotations

from typing import Any

from autograd_inspector.capture.compiled.plan import Plan
from autograd_inspector.capture.observers.calls.ops import Recorder
from autograd_inspector.capture.observers.compiled.counters import counting
from autograd_inspector.capture.observers.compiled.interpreter import Interpreter
from autograd_inspector.capture.observers.compiled.shadow import Shadow


def described(recorder: Recorder, interpreter: Interpreter, plan: Plan, shadow: Shadow, outer: int) -> Any:
    """Its results. What it does is recorded as called from ``outer``."""
    recording = recorder.recording
    stand_ins = shadow.stand_ins()
    interpreter.shadow = shadow
    values, recording.values = recording.values, recording.values if shadow.has_values else None
    try:
        with shadow.mode, counting(plan):
            return interpreter.run(stand_ins, outer)
    finally:
        recording.values = values
