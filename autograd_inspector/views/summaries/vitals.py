"""The vitals as tables of one quantity each: a row a module, a column a step that is kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct, structs

from autograd_inspector.model.vitals import Extreme, Figure, ParameterVitals, Vitals


class VitalsRow(Struct, frozen=True):
    """One module in each step; None where nothing was measured, NaN where the values were not finite.

    ``path``: of the module in the graph, and of a parameter of the model itself its name. ``peak`` is the largest value
    of all steps, kept or not, and ``peak_step`` its step; None where there is none. Of a step that is not kept a
    module's value is not known, only its parameters' are.
    """

    label: str
    path: str
    values: tuple[float | None, ...]
    peak: float | None = None
    peak_step: int = -1


class Quantity(Struct, frozen=True):
    """``logarithmic``: values span orders of magnitude, and an exact zero is worth telling apart."""

    key: str
    title: str
    rows: tuple[VitalsRow, ...]
    logarithmic: bool = False


def quantities_of(vitals: Vitals, models: Sequence[str] = ()) -> tuple[Quantity, ...]:
    """Those of which anything was measured, gradients first.

    ``models``: the names of the capture's models. A single one stands before its modules, as in the graph.
    """
    model = models[0] if len(models) == 1 else ""
    return tuple(_within(model, quantity) for quantity in _quantities(vitals) if quantity.rows)


def _within(model: str, quantity: Quantity) -> Quantity:
    if not model:
        return quantity
    rows = (
        structs.replace(
            row,
            label=f"{model}.{row.label}" if row.path else f"{model} {row.label}",
            path=f"{model}.{row.path}" if row.path else model,
        )
        for row in quantity.rows
    )
    return structs.replace(quantity, rows=tuple(rows))


def _quantities(vitals: Vitals) -> Iterator[Quantity]:
    steps = vitals.steps
    groups: dict[str, list[ParameterVitals]] = {}
    for parameter in vitals.parameters:
        groups.setdefault(parameter.name.rpartition(".")[0] or parameter.name, []).append(parameter)
    yield Quantity("gradient", "gradient norm", tuple(_combined(steps, groups, _gradient, _root)), logarithmic=True)
    yield Quantity("update", "update / weight", tuple(_combined(steps, groups, _update, _ratio)), logarithmic=True)
    yield Quantity("weight", "weight norm", tuple(_combined(steps, groups, _weight, _root)), logarithmic=True)
    yield Quantity("cosine", "gradient cosine", tuple(_combined(steps, groups, _cosine, _weighted)))
    yield Quantity("zeros", "zeros in gradients", tuple(_combined(steps, groups, _zeros, _share)))
    for key, title in (
        ("deviation", "activation deviation"),
        ("saturated", "saturated activations"),
        ("dead", "dead units"),
    ):
        rows = (_row(steps, module.label, module.path, getattr(module, key)) for module in vitals.modules)
        yield Quantity(key, title, tuple(row for row in rows if row.values), logarithmic=key == "deviation")


Pick = Callable[[ParameterVitals], Figure]
Combine = Callable[[list[tuple[ParameterVitals, float, int]]], float]


def _gradient(parameter: ParameterVitals) -> Figure:
    return parameter.gradient


def _update(parameter: ParameterVitals) -> Figure:
    return parameter.update


def _weight(parameter: ParameterVitals) -> Figure:
    return parameter.weight


def _cosine(parameter: ParameterVitals) -> Figure:
    return parameter.cosine


def _zeros(parameter: ParameterVitals) -> Figure:
    return parameter.zeros


def _root(values: list[tuple[ParameterVitals, float, int]]) -> float:
    """The norm of all of them together."""
    return math.sqrt(sum(value**2 for _, value, _ in values))


def _ratio(values: list[tuple[ParameterVitals, float, int]]) -> float:
    """How far all of them together moved, over their norm."""
    weights = [parameter.weight.values[place] or 0.0 for parameter, _, place in values]
    whole = math.sqrt(sum(weight**2 for weight in weights))
    moved = math.sqrt(sum((value * weight) ** 2 for (_, value, _), weight in zip(values, weights, strict=True)))
    return moved / whole if whole else math.nan


def _weighted(values: list[tuple[ParameterVitals, float, int]]) -> float:
    """The cosine of all of them together, where each has the norm that it had in the step before."""
    squares = [(parameter.gradient.values[place] or 0.0) ** 2 for parameter, _, place in values]
    whole = sum(squares)
    return sum(value * square for (_, value, _), square in zip(values, squares, strict=True)) / whole if whole else 0.0


def _share(values: list[tuple[ParameterVitals, float, int]]) -> float:
    entries = sum(parameter.numel for parameter, _, _ in values)
    return sum(value * parameter.numel for parameter, value, _ in values) / entries


def _combined(
    steps: tuple[int, ...], groups: dict[str, list[ParameterVitals]], pick: Pick, combine: Combine
) -> Iterator[VitalsRow]:
    for path, parameters in groups.items():
        figures = [(parameter, pick(parameter)) for parameter in parameters if pick(parameter).values]
        if not figures:
            continue
        values: list[float | None] = []
        for place in range(len(figures[0][1].values)):
            here = [(p, v, place) for p, figure in figures if (v := figure.values[place]) is not None]
            values.append(combine(here) if here else None)
        # A norm is no smaller than that of a member; of a ratio or a share of all, a member's tells nothing.
        members = [figure for _, figure in figures] if combine is _root or len(figures) == 1 else []
        yield _row(steps, path, path, Figure(tuple(values)), members)


def _row(steps: tuple[int, ...], label: str, path: str, figure: Figure, members: Iterable[Figure] = ()) -> VitalsRow:
    kept = [
        Extreme(value, step)
        for value, step in zip(figure.values, steps, strict=False)
        if value is not None and math.isfinite(value)
    ]
    exact = [one.largest for one in (figure, *members) if one.largest is not None]
    peak = max((*exact, *kept), key=lambda extreme: extreme.value, default=Extreme(-1.0, -1))
    return VitalsRow(label, path, figure.values, peak.value if peak.step > 0 else None, peak.step)
