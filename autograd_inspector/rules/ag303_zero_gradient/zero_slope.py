"""AG303 where a loss is computed with a second derivative that is zero everywhere: a network that is piecewise linear."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.values import smooth
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.zero_slopes import ZeroSlope
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import join_names


def zero_second_derivatives(analysis: Analysis, slopes: Iterable[ZeroSlope]) -> Iterator[Problem]:
    """One finding for each line that asks for one."""
    for found in slopes:
        names = names_of(analysis, found.tensors)
        bends = {op.site: op for op in found.bends}
        called = join_names(dict.fromkeys(f"`{op.name}`" for op in found.bends)) or "a piecewise linear activation"
        yield Problem(
            "warning",
            f"the second derivative with respect to {join_names(names)} is zero everywhere, and a loss uses it: the first derivative depends on {join_names(names)} through {called} alone, which is piecewise linear",
            "Use a smooth activation where a loss needs second derivatives, such as nn.Tanh(), nn.SiLU() or nn.Softplus().",
            analysis.places(
                *((op, "slope is constant here") for op in bends.values()),
                (found.run, "second derivative requested here"),
                (found.loss, "backward called here"),
            ),
            tuple(names),
            ops=tuple(op.index for op in bends.values()),
            cures=tuple(cure for op in found.bends[:1] for cure in smooth(analysis, op)),
        )
