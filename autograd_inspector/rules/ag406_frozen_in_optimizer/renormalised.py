"""AG406: a frozen embedding whose forward rewrites its rows, because it was made with ``max_norm``."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind
from autograd_inspector.analysis.ops_of import ops_of
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op


def renormalised(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each frozen parameter: who gave it both may want both, so it is a hint."""
    told: set[int] = set()
    for op in ops_of(analysis.capture, OpKind.RENORMALISES):
        if op.writes:
            for write in op.writes:
                frozen = not analysis.lifecycle.requires_grad_at(write.tensor, op.index)
                if analysis.capture.tensors[write.tensor].kind == "parameter" and frozen and write.tensor not in told:
                    told.add(write.tensor)
                    yield _problem(analysis, op, write.tensor)


def _problem(analysis: Analysis, op: Op, weight: int) -> Problem:
    name = name_of(analysis, weight)
    made = analysis.lifecycle.made_at(weight)
    return Problem(
        "info",
        f"{name} does not require grad, and still changes: `{op.name}` with max_norm scales the rows that it reads down in "
        "place, in every forward",
        "Make the embedding without max_norm, or scale all of its rows once, before it is used.",
        analysis.places(*((site, "made here") for site in made[:1]), (op, "rows scaled down in place here")),
        (name, "max_norm"),
        ops=(op.index,),
    )
