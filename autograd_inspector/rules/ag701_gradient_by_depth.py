"""AG701: gradients that vanish, or explode, from layer to layer."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.vitals.depth import Layer, Trend, trend_of
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op
from autograd_inspector.model.values import SATURATING


def check(analysis: Analysis) -> Iterator[Problem]:
    """Gradients shrink or grow ten-thousandfold from the last layer to the first. Needs `values=True`.

    Why it matters
        The backward pass multiplies the gradient by the derivative of each layer. If the derivatives are small, the first
        layers get almost no gradient and stay close to their initialization; if they are large, the first layers get
        steps that destroy them. The derivative of a sigmoid is at most 1/4: six sigmoids leave about 1/4000.

    Example
        ::

            layers = [part for _ in range(8) for part in (nn.Linear(4, 4), nn.Sigmoid())]
            deep = nn.Sequential(*layers, nn.Linear(4, 1))
            deep(x).pow(2).mean().backward()

    Fix
        ::

            layers = [part for _ in range(8) for part in (nn.Linear(4, 4), nn.LayerNorm(4), nn.SiLU())]
            deep = nn.Sequential(*layers, nn.Linear(4, 1))
            deep(x).pow(2).mean().backward()

    References
        Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010; Pascanu,
        Mikolov and Bengio, "On the difficulty of training recurrent neural networks", 2013; torch.nn.init.
    """
    trend = trend_of(analysis.capture)
    if trend is not None:
        yield _problem(analysis, trend)


def _problem(analysis: Analysis, trend: Trend) -> Problem:
    first, last = trend.layers[0], trend.layers[-1]
    flat = _flat_between(analysis, first, last)
    what = "shrinks" if trend.vanishes else "grows"
    per_layer = trend.factor ** (1 / (len(trend.layers) - 1))
    names = name_of(analysis, first.vitals.tensor), name_of(analysis, last.vitals.tensor)
    norms = first.vitals.gradient.values[0] or 0.0, last.vitals.gradient.values[0] or 0.0
    because = f"; `{flat[0].name}` runs {len(flat)} times in between" if flat and trend.vanishes else ""
    return Problem(
        "warning",
        f"the gradient {what} in the backward pass, by a factor of {per_layer:.2g} per layer: its norm is {norms[1]:.2g} at "
        f"{names[1]} and {norms[0]:.2g} at {names[0]}{because}",
        _fix(trend, flat),
        analysis.places(*((op, "applied here") for op in flat[:1]), (first.op, "first layer"), (last.op, "last layer")),
        names,
        (
            f"In step {trend.step:,} the gradient norms over {len(trend.layers)} weights, first to last, are "
            f"{', '.join(f'{layer.vitals.gradient.values[0] or 0.0:.1g}' for layer in trend.layers)}.",
            f"{trend.steps:.0%} of the kept steps show this.",
        ),
        (*(op.index for op in flat[:1]), first.op.index),
    )


def _fix(trend: Trend, flat: tuple[Op, ...]) -> str:
    if not trend.vanishes:
        return (
            "Initialize the weights for the depth of the network (`torch.nn.init.xavier_normal_`), or normalize between "
            "the layers (`nn.LayerNorm`)."
        )
    instead = f"Use `relu`, `gelu` or `silu` instead of the hidden `{flat[0].name}`, n" if flat else "N"
    return f"{instead}ormalize between the layers (`nn.LayerNorm`), or add residual connections."


def _flat_between(analysis: Analysis, first: Layer, last: Layer) -> tuple[Op, ...]:
    """The saturating functions between the two, of the kind that occurs most."""
    ops = [
        op
        for op in analysis.capture.ops[first.op.index : last.op.index]
        if op.name in SATURATING and not op.name.startswith("relu") and op.recorded
    ]
    kinds = grouped(ops, lambda op: op.name)
    most = max(kinds, key=lambda name: len(kinds[name]), default="")
    return tuple(kinds.get(most, ()))
