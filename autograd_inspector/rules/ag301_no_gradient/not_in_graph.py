"""``autograd.grad`` was asked for the gradient of a tensor that what it differentiates is not computed from."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.meeting import meeting
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.harmful import not_in_graph
from autograd_inspector.analysis.gradients.asked_in_part import answered_in_part
from autograd_inspector.analysis.gradients.through_steps import step_between
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op
from autograd_inspector.model.remedy import Move, Remedies
from autograd_inspector.model.rewrites import GradOfWhole
from autograd_inspector.model.torch_names import BACKWARD_OF_COMPILED
from autograd_inspector.model.wording import join_names

_SAME_VALUES = OpKind.VIEWS | OpKind.COPIES | OpKind.CONVERTS


def asked_of_others(analysis: Analysis) -> Iterator[Problem]:
    """Where no cut explains it: the tensor was made too late, is a copy of what was used, or was not used at all."""
    yield from _left_out(analysis)
    if analysis.harmful_cuts:
        return
    for run in analysis.capture.backwards:
        for tensor in sorted(not_in_graph(run))[:1]:
            if run.error.partition("\n")[0][:200] in analysis.capture.error:
                yield _finding(analysis, run, tensor)


def _left_out(analysis: Analysis) -> Iterator[Problem]:
    """``allow_unused=True``: the gradient of a view, or a copy, of what was used in its place is None, or zero.

    What is no view of anything used may well be independent of what is differentiated.
    """
    told = set[int]()
    for run in answered_in_part(analysis.capture):
        if run.site in told:
            continue
        made_here = {node.op for node in analysis.nodes_of(run)}
        leaves = analysis.leaves.of(run.graph.roots)
        for tensor in run.reached:
            made = analysis.flow.birth(tensor)
            if (
                made is None
                or made.index in made_here
                or tensor in leaves
                or not analysis.capture.tensors[tensor].requires_grad
            ):
                continue
            if _taken_from(analysis, tensor, made, _read(analysis, run)) is not None:
                told.add(run.site)
                yield _finding(analysis, run, tensor)
                break


def _read(analysis: Analysis, run: Backward) -> set[int]:
    """What the ops read that the roots of a run were computed with."""
    starts = [(root, run.start) for root in run.roots]
    return {tensor for op, _ in analysis.flow.upstream(starts) for tensor in op.inputs}


def _finding(analysis: Analysis, run: Backward, tensor: int) -> Problem:
    read = _read(analysis, run)
    computed = next((op for op in map(analysis.flow.birth, run.roots) if op is not None), None)
    made = analysis.flow.birth(tensor)
    name = name_of(analysis, tensor)
    roots = join_names((name_of(analysis, root) for root in run.roots), 2)
    late = computed is not None and made is not None and computed.index < made.index
    stepped = step_between(analysis, run, tensor)
    why, fix = _why(analysis, tensor, roots, _taken_from(analysis, tensor, made, read), late=late)
    if stepped is not None:
        why = (
            f"{roots} depends on {name} only through weights that step() has moved, and autograd does not record steps"
        )
        fix = (
            "Write the step yourself: `g = torch.autograd.grad(loss, parameters, create_graph=True)`, and compute "
            f"{roots} with `p - lr * g` for each p (torch.func.functional_call)."
        )
    elif any(node.name == BACKWARD_OF_COMPILED for node in analysis.nodes_of(run)):
        why = f"{roots} was computed with the backward of compiled code, which AOTAutograd cannot differentiate"
        fix = 'Do not compile code that is differentiated twice, or compile it with `backend="eager"`.'
    return Problem(
        "error" if run.error else "warning",
        f"torch.autograd.grad does not find {name} in the graph of {roots}{'' if run.error else ', and returns None'}: {why}",
        fix,
        analysis.places(
            (stepped, "weights changed without a graph here"),
            (made, "made here"),
            (computed, "computed here, without it"),
            (run, "gradient requested here"),
        ),
        (name,),
        ops=(made.index,) if made is not None else (),
        cures=tuple(_cures(analysis, run, made, computed)) if stepped is None else (),
    )


def _cures(analysis: Analysis, run: Backward, made: Op | None, computed: Op | None) -> Iterator[Remedies]:
    """A copy is made before what is computed; by a part of a tensor, the whole is differentiated by."""
    if made is None or computed is None:
        return
    taken = analysis.capture.tensors[made.inputs[0]] if made.inputs else None
    pair = meeting(analysis, made.site, run.site)
    if is_a(made.name, OpKind.VIEWS) and taken is not None and taken.requires_grad and pair is not None:
        yield (GradOfWhole(pair[1], pair[0]),)
    before = meeting(analysis, made.site, computed.site)
    if before is not None and before[0].lineno > before[1].lineno:
        yield (Move(*before, "before", read=True),)


def _why(analysis: Analysis, tensor: int, roots: str, whole: int | None, *, late: bool) -> tuple[str, str]:
    """(what the tensor has to do with what was used instead, what to do about it)."""
    name, made = name_of(analysis, tensor), analysis.flow.birth(tensor)
    if whole is None or made is None:
        fix = f"Compute {roots} from {name} itself, or pass allow_unused=True where it may be independent of it."
        return (
            f"{name} was made after {roots} had been computed" if late else f"{roots} was not computed from {name}",
            fix,
        )
    source = name_of(analysis, whole)
    kind = "a view" if is_a(made.name, OpKind.VIEWS) else "a copy"
    return (
        f"{name} is {kind} of {source}, made after {roots} had been computed from {source}"
        if late
        else f"{name} is {kind} of {source}, and {roots} was computed from {source} itself",
        f"Make {name} first and compute {roots} from it"
        + (
            f", or compute the gradient of {source} and use the part that belongs to {name}."
            if analysis.capture.tensors[whole].requires_grad
            else "."
        ),
    )


def _taken_from(analysis: Analysis, tensor: int, made: Op | None, read: set[int]) -> int | None:
    """The tensor with the same values that was used in its place."""
    while made is not None and made.inputs and is_a(made.name, _SAME_VALUES):
        tensor = made.inputs[0]
        if tensor in read:
            return tensor
        made = analysis.flow.birth(tensor)
    return None
