"""Ops that are given graphs: custom Functions, and the branches and loops of ``torch.cond()`` and its like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

from torch import Tensor
from torch.autograd import Function

from autograd_inspector.capture.compiled.plan import OUTPUT, PLACEHOLDER, Made, Plan, Step
from autograd_inspector.capture.observers.calls.applied import ApplyProbe
from autograd_inspector.capture.observers.calls.arguments import gather
from autograd_inspector.capture.observers.calls.ops import Recorder
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import node_of
from autograd_inspector.capture.undisturbed.recursion import RecursionLimit
from autograd_inspector.model.event import NoneGradient

Run = Callable[[Plan, Sequence[Any]], Any]
_FUNCTION = "autograd_function_apply"
_CHOOSING = frozenset({"cond", "while_loop", "scan", "map", "map_impl", "associative_scan", "invoke_subgraph"})
"""Which of their graphs run, and how often, the data decide."""


def is_function(step: Step) -> bool:
    """Whether it applies a custom autograd.Function."""
    return _name(step) == _FUNCTION


def chooses(step: Step) -> bool:
    """Whether its graphs do not run once each, in the order of the code."""
    return _name(step) in _CHOOSING


def apply(
    recorder: Recorder, plan: Plan, step: Step, call: Callable[[], Any], args: Sequence[Any], *, backward_runs: bool
) -> Any:
    """Apply a custom Function as one op, under the name and with the backward that the program gave it."""
    name, code = _written_as(plan, step)
    recording = recorder.recording
    recording.functions.setdefault(name, code)
    probe, seen = ApplyProbe(recording, recorder.regions, recorder.guard, RecursionLimit()), list[Any]()
    probe.before(seen, type(name, (Function,), {}), *args[len(step.bodies) :])
    try:
        result = call()
    except BaseException as error:
        probe.failed(seen, error)
        raise
    probe.after(seen, result)
    if not backward_runs:
        recorder.guard.run(_note_none, recording, plan.nested[step.bodies[-1]], result)
    return result


def inside_all(plan: Plan, step: Step, args: Sequence[Any], run: Run, like: Callable[[Made, list[Tensor]], Any]) -> Any:
    """What the graphs of an op return, each run once with what the op was given."""
    operands = list[Any]()
    _flatten(args, operands)
    results = []
    for each in (plan.nested[name] for name in step.bodies):
        wanted = [inner.made for inner in each.steps if inner.kind == PLACEHOLDER]
        given = operands[len(operands) - len(wanted) :]
        if len(given) == len(wanted):
            fitting = [_fitting(value, made, like) for value, made in zip(given, wanted, strict=True)]
            results.append(run(each, fitting))
    return results


def _fitting(value: Any, made: Any, like: Callable[[Made, list[Tensor]], Any]) -> Any:
    """An operand, or of one that is taken apart what a body gets of it."""
    if not isinstance(value, Tensor) or not isinstance(made, Made) or tuple(value.shape) == made.shape:
        return value
    if tuple(value.shape[1:]) == made.shape:
        return value.select(0, 0)  # A loop's body gets one row after the other.
    return like(made, [value])


def _flatten(values: Any, into: list[Any]) -> None:
    for value in values:
        if isinstance(value, (tuple, list)):
            _flatten(value, into)
        else:
            into.append(value)


def _name(step: Step) -> str:
    return str(getattr(step.target, "__name__", "")) if step.bodies else ""


def _written_as(plan: Plan, step: Step) -> tuple[str, CodeType | None]:
    """(the class of a custom Function, the code of its backward), from the lines of its forward."""
    forward = next((plan.nested[name] for name in step.bodies), plan)
    for inner in forward.steps:
        inside = len(inner.frames) - len(step.frames)
        if inside > 0:
            owner = inner.frames[inside - 1][0].co_qualname.rpartition(".")[0]
            backward = (code for code in plan.traced if code.co_qualname == f"{owner}.backward")
            return owner.rpartition(".")[2], next(backward, None)
    return "Function", None


def _note_none(recording: Recording, backward: Plan, result: Any) -> None:
    """The inputs for which its backward returns None: it never runs as such, but this is what was compiled of it."""
    outputs: list[Tensor] = []
    gather((result,), outputs)
    node: Any = next((node for node in map(node_of, outputs) if node is not None), None)
    returned = next((step.args[0] for step in backward.steps if step.kind == OUTPUT), ())
    if node is None or not isinstance(returned, (tuple, list)):
        return
    wanted = [each for each, need in zip(returned, node.needs_input_grad, strict=False) if need]
    missing = tuple(number for number, each in enumerate(wanted) if each is None)
    if missing:
        recording.none_gradients[NoneGradient(node._sequence_nr(), missing)] = None
