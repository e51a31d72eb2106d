"""Where data went on and gradient did not: the analysis that the AG10x rules share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.dataflow import DataFlow
from autograd_inspector.model.op import Op, Trait

Cause = Literal["detached", "no_grad", "inference_mode", "non-differentiable", "left autograd"]

DETACHING = {"detach", "detach_", "data"}
REWRAPPING = {"tensor", "as_tensor", "asarray", "from_numpy", "full", "full_like", "new_tensor", "__deepcopy__"}
NO_GRAD_ERROR = "does not require grad and does not have a grad_fn"


class Severed(Struct, frozen=True):
    """Ops that cut gradient for one reason: one grad-mode region, or one line.

    ``parameters`` are the tensors meant to learn that the cut keeps from learning, ``backward`` the engine run that
    showed it. ``fatal``: that run raised because of it.
    """

    cause: Cause
    ops: tuple[Op, ...]
    through: tuple[int, ...]
    parameters: tuple[int, ...]
    backward: Backward
    fatal: bool


def severed(capture: Capture, flow: DataFlow, meant: frozenset[int]) -> tuple[Severed, ...]:
    """All cuts that matter: those behind a backward that raised, and those that starve a parameter."""
    for run in capture.backwards:
        if NO_GRAD_ERROR in run.error:
            return tuple(_behind_failure(capture, flow, run))
    return tuple(_starving(capture, flow, meant)) if meant else ()


def _behind_failure(capture: Capture, flow: DataFlow, run: Backward) -> Iterator[Severed]:
    starts = [(root, run.start) for root in run.roots if not capture.tensors[root].requires_grad]
    cuts: list[tuple[Op, int]] = []
    for op, through in flow.upstream(starts, lambda op, tensor: not is_cut(capture, op, tensor)):
        if is_cut(capture, op, through):
            cuts.append((op, through))
    for cause, members in _grouped(capture, cuts):
        sources = tuple(dict.fromkeys(t for op, _ in members for t in _parameters_above(capture, flow, op)))
        ops, through = zip(*members, strict=True)
        yield Severed(cause, ops, through, sources, run, fatal=True)


def _starving(capture: Capture, flow: DataFlow, meant: frozenset[int]) -> Iterator[Severed]:
    runs = [run for run in capture.backwards if run.api == "backward" and not run.error]
    if not runs:
        return
    starts = [(root, run.start) for run in runs for root in run.roots]
    cuts = [(op, t) for op, t in flow.upstream(starts, lambda op, tensor: True) if is_cut(capture, op, t)]
    starved: list[tuple[Op, int]] = []
    lost: dict[int, tuple[int, ...]] = {}
    for op, through in cuts:
        found = tuple(t for t in _parameters_above(capture, flow, op) if t in meant)
        if found:
            lost[op.index] = found
            starved.append((op, through))
    for cause, members in _grouped(capture, starved):
        parameters = tuple(dict.fromkeys(t for op, _ in members for t in lost[op.index]))
        ops, through = zip(*members, strict=True)
        yield Severed(cause, ops, through, parameters, runs[-1], fatal=False)


def is_cut(capture: Capture, op: Op, through: int) -> bool:
    """Gradient that would come back through this result of the op goes no further."""
    if op.has(Trait.CUT):
        return True
    made_nodes = op.last_seq > op.first_seq
    return made_nodes and through in op.outputs and not differentiable(capture.tensors[through].dtype)


def differentiable(dtype: str) -> bool:
    """Autograd follows floating and complex tensors only."""
    return dtype.startswith(("float", "bfloat", "complex"))


def cause_of(capture: Capture, op: Op, through: int) -> Cause:
    """Why the op cuts."""
    region = capture.regions[op.region]
    if op.name in DETACHING:
        return "detached"
    if op.name in REWRAPPING or op.has(Trait.EXPORT | Trait.COLLECTIVE):
        return "left autograd"
    if not differentiable(capture.tensors[through].dtype):
        return "non-differentiable"
    if region.kind != "enabled" and not op.has(Trait.FUNCTION):
        return region.kind
    return "non-differentiable"


def _grouped(capture: Capture, cuts: list[tuple[Op, int]]) -> Iterator[tuple[Cause, list[tuple[Op, int]]]]:
    groups: dict[tuple[Cause, int], list[tuple[Op, int]]] = {}
    for op, through in cuts:
        cause = cause_of(capture, op, through)
        switched = cause in {"no_grad", "inference_mode"}
        groups.setdefault((cause, op.region if switched else op.site), []).append((op, through))
    for (cause, _), members in groups.items():
        yield cause, sorted(members, key=lambda member: member[0].index)


def _parameters_above(capture: Capture, flow: DataFlow, op: Op) -> Iterator[int]:
    """Leaves from which gradient would arrive at the op, were it not cut."""
    for tensor in op.inputs:
        if capture.tensors[tensor].kind == "parameter" or tensor in capture.optimized:
            yield tensor
    starts = [(tensor, op.index) for tensor in op.inputs if capture.tensors[tensor].requires_grad]
    for above, through in flow.upstream(starts, lambda o, t: not is_cut(capture, o, t)):
        if is_cut(capture, above, through):
            continue
        for tensor in above.inputs:
            if capture.tensors[tensor].kind == "parameter" or tensor in capture.optimized:
                yield tensor
