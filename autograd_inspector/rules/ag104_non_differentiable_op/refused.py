"""AG104 where torch itself refuses: an op that has no derivative, or integers that are to have one."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.asked_in_vain import ends
from autograd_inspector.analysis.ops_of import raising
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op
from autograd_inspector.model.remedy import Remedies, SetArgument
from autograd_inspector.model.torch_errors import TorchError, says


def refused(analysis: Analysis) -> Iterator[Problem]:
    """What ended the program, or a backward of it."""
    for run in analysis.capture.backwards:
        found = says(run.error, TorchError.NO_DERIVATIVE)
        if found is not None and run.nested_in < 0:
            yield from _without_formula(analysis, run, found[0].partition("'")[2].partition("'")[0])
        missing = says(run.error, TorchError.NO_FORMULA)
        if missing is not None and run.nested_in < 0:
            yield from _unregistered(analysis, run, missing[1])
    for op in raising(analysis.capture):
        if op.error and says(op.error, TorchError.NOT_FLOATING) and ends(analysis.capture, op):
            yield _integers(analysis, op)


def _without_formula(analysis: Analysis, run: Backward, formula: str) -> Iterator[Problem]:
    """``formula`` is how torch calls it: ``igamma: input``."""
    called, _, argument = formula.partition(": ")
    made = [analysis.capture.ops[node.op] for node in analysis.nodes_of(run) if node.op >= 0]
    for op in [op for op in made if op.name.strip("_") == called.strip("_")][:1]:
        behind = [t for t in op.inputs if analysis.capture.tensors[t].requires_grad]
        names = tuple(dict.fromkeys(name_of(analysis, tensor) for tensor in behind))
        yield Problem(
            "error",
            f"torch has no derivative of `{op.name}`{f' by its argument {argument}' if argument else ''}, and backward() runs through it",
            f"Detach its input if no gradient must flow through `{op.name}`, or use other ops.",
            analysis.places((op, "no derivative here"), (run, "backward called here")),
            (op.name, *names),
            ops=(op.index,),
        )


def _unregistered(analysis: Analysis, run: Backward, overload: str) -> Iterator[Problem]:
    """``overload`` is a custom op as torch calls it: ``pointops.three_interpolate.default``."""
    space, name = overload.split(".")[:2]
    made = [analysis.capture.ops[node.op] for node in analysis.nodes_of(run) if node.op >= 0]
    for op in [op for op in made if name in op.name][:1]:
        behind = [t for t in op.inputs if analysis.capture.tensors[t].requires_grad]
        names = tuple(dict.fromkeys(name_of(analysis, tensor) for tensor in behind))
        yield Problem(
            "error",
            f"the custom op `{space}::{name}` has no autograd formula, and backward() runs through it",
            f"Register one with `{name}.register_autograd(backward, setup_context=...)`, or detach its input if no gradient "
            f"must flow through `{name}`, or use torch's own ops.",
            analysis.places((op, "no autograd formula here"), (run, "backward called here")),
            (name, *names),
            ops=(op.index,),
        )


def _integers(analysis: Analysis, op: Op) -> Problem:
    """An integer, or boolean, tensor that is to require grad."""
    tensor = op.inputs[0] if op.inputs else -1
    made = analysis.flow.birth(tensor) if tensor >= 0 else None
    name = name_of(analysis, tensor) if tensor >= 0 else "the new tensor"
    dtype = analysis.capture.tensors[tensor].dtype if tensor >= 0 else "an integer dtype"
    return Problem(
        "error",
        f"`{op.name}` cannot make {name} require grad: it has {'dtype ' if tensor >= 0 else ''}{dtype}, and only floating-point and complex tensors can require grad",
        "Create it with a floating-point dtype (`1.0` instead of `1`, `dtype=torch.float32`, `.float()`).",
        analysis.places((made, "created here, with an integer dtype"), (op, "refused here")),
        (name,),
        ops=(op.index,),
        cures=tuple(_floating(analysis, op, made)),
    )


def _floating(analysis: Analysis, op: Op, made: Op | None) -> Iterator[Remedies]:
    """The tensor is made of floating point numbers."""
    maker = op if made is None else made
    place = analysis.capture.place(maker.site)
    if place is not None:
        yield (SetArgument(place, maker.name, "dtype", "torch.float32"),)
