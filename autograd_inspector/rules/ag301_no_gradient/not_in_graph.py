"""``autograd.grad`` was asked for the gradient of a tensor that what it differentiates is not computed from."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.harmful import not_in_graph
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import dedupe_locations
from autograd_inspector.model.op import Op
from autograd_inspector.model.wording import join_names

_SAME_VALUES = OpKind.VIEWS | OpKind.COPIES | OpKind.CONVERTS


def asked_of_others(analysis: Analysis) -> Iterator[Problem]:
    """Where no cut explains it: the tensor was made too late, is a copy of what was used, or was not used at all."""
    if analysis.harmful_cuts:
        return
    for run in analysis.capture.backwards:
        for tensor in sorted(not_in_graph(run))[:1]:
            if run.error.partition("\n")[0][:200] in analysis.capture.error:
                yield _finding(analysis, run, tensor)


def _finding(analysis: Analysis, run: Backward, tensor: int) -> Problem:
    starts = [(root, run.start) for root in run.roots]
    above = {op.index for op, _ in analysis.flow.upstream(starts)}
    read = {t for index in above for t in analysis.capture.ops[index].inputs}
    computed = next((op for op in map(analysis.flow.birth, run.roots) if op is not None), None)
    made = analysis.flow.birth(tensor)
    name = name_of(analysis, tensor)
    roots = join_names((name_of(analysis, root) for root in run.roots), 2)
    late = computed is not None and made is not None and computed.index < made.index
    why, fix = _why(analysis, tensor, roots, _taken_from(analysis, tensor, made, read), late=late)
    return Problem(
        "error",
        f"torch.autograd.grad does not find {name} in the graph of {roots}: {why}",
        fix,
        dedupe_locations(
            [
                *(analysis.user_frames(made.site, "made here") if made is not None else ()),
                *(analysis.user_frames(computed.site, "computed here, without it") if computed is not None else ()),
                *analysis.user_frames(run.site, "gradient asked for here"),
            ]
        ),
        (name,),
        ops=(made.index,) if made is not None else (),
    )


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
            f", or ask for the gradient of {source} and take the part that belongs to {name}."
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
