"""The vitals of several ranks -> one: parts of a parameter put together, batches of a module pooled."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from autograd_inspector.model.ranked_vitals import RankedVitals
from autograd_inspector.model.vitals import Extreme, Figure, MemoryVitals, ModuleVitals, ParameterVitals, Vitals

Row = TypeVar("Row", ParameterVitals, ModuleVitals)
Combine = Callable[[Sequence[float], Sequence[int]], float]
"""Of the values of some ranks, and the places of these ranks."""
_BYTES = ("parameters", "gradients", "state", "saved", "peak")


def merged_vitals(by_rank: Mapping[int, Vitals]) -> RankedVitals:
    """One record of those of some ranks; empty where no step was measured on all that measured any."""
    ranks = tuple(rank for rank in sorted(by_rank) if by_rank[rank])
    common = set.intersection(*(set(by_rank[rank].steps) for rank in ranks)) if ranks else set[int]()
    if not common:
        return RankedVitals()
    steps = tuple(sorted(common))
    all_vitals = [_at(by_rank[rank], steps) for rank in ranks]
    memory = tuple(vitals.memory for vitals in all_vitals)
    whole = Vitals(
        steps,
        max(vitals.seen for vitals in all_vitals),
        tuple(_parameter(rows, steps) for rows in _together(v.parameters for v in all_vitals)),
        tuple(_module(rows, steps) for rows in _together(v.modules for v in all_vitals)),
        _sum(memory),
        next((vitals.scale for vitals in all_vitals if vitals.scale.updates), all_vitals[0].scale),
    )
    return RankedVitals(ranks, whole, memory)


def _at(vitals: Vitals, steps: tuple[int, ...]) -> Vitals:
    """Of these of its steps alone; tensors and lines are those of a capture that nobody else has."""
    places = [vitals.steps.index(step) for step in steps]

    def figure(one: Figure) -> Figure:
        return Figure(_picked(one.values, places))

    def row(one: Row) -> Row:
        figures = {name: figure(value) for name in one.__struct_fields__ if type(value := getattr(one, name)) is Figure}
        return replace(one, **figures)

    memory = vitals.memory
    columns = {name: getattr(memory, name) for name in (*_BYTES, "peak_op")}
    cut = {name: _picked(column, places) for name, column in columns.items()}
    return replace(
        vitals,
        steps=steps,
        parameters=tuple(replace(row(one), tensor=-1) for one in vitals.parameters),
        modules=tuple(replace(row(one), site=-1) for one in vitals.modules),
        memory=MemoryVitals(**cut),
    )


def _picked(column: tuple[Any, ...], places: Sequence[int]) -> tuple[Any, ...]:
    """() where it has not so many, as in a file that was damaged."""
    return tuple(column[place] for place in places) if len(column) > max(places) else ()


def _together(by_rank: Iterable[Sequence[Row]]) -> list[list[Row]]:
    """Rows that are of one thing, in the order in which the ranks have them."""
    found: dict[tuple[str, int], list[Row]] = {}
    for rows in by_rank:
        times: dict[str, int] = {}
        for row in rows:
            name = row.label
            times[name] = times.get(name, 0) + 1
            found.setdefault((name, times[name]), []).append(row)
    return list(found.values())


def _parameter(rows: list[ParameterVitals], steps: tuple[int, ...]) -> ParameterVitals:
    first = rows[0]
    if any(row.part for row in rows):
        figures = _parts(rows, steps)
    else:
        names = ("gradient", "entry", "zeros", "weight", "update")
        figures = {name: _figure([getattr(row, name) for row in rows], steps, _largest) for name in names}
        figures["cosine"] = _figure([row.cosine for row in rows], steps, _mean)
    bad = [row.first_nonfinite for row in rows if row.first_nonfinite >= 0]
    return replace(
        first,
        **figures,
        nonfinite=max(row.nonfinite for row in rows),
        first_nonfinite=min(bad, default=-1),
        part=False,
        held=first.numel,
    )


def _parts(rows: list[ParameterVitals], steps: tuple[int, ...]) -> dict[str, Figure]:
    """Of a parameter that lies on several ranks; where some have the same part, each part counts once."""
    held = [row.held for row in rows]
    once = rows[0].numel / sum(held) if sum(held) else 1.0

    def norm(values: Sequence[float], _: Sequence[int]) -> float:
        return math.sqrt(once * sum(value**2 for value in values))

    def by_entries(values: Sequence[float], places: Sequence[int]) -> float:
        whole = sum(held[place] for place in places)
        return sum(value * held[place] for value, place in zip(values, places, strict=True)) / whole if whole else 0.0

    gradient = _figure([row.gradient for row in rows], steps, norm)
    weight = _figure([row.weight for row in rows], steps, norm)
    moved = _figure([_times(row.update, row.weight) for row in rows], steps, norm)
    along = _figure(
        [_times(row.cosine, row.gradient, row.gradient) for row in rows], steps, lambda values, _: once * sum(values)
    )
    return {
        "gradient": gradient,
        "entry": _figure([row.entry for row in rows], steps, _largest),
        "zeros": _figure([row.zeros for row in rows], steps, by_entries),
        "weight": weight,
        "update": _divided(moved, weight, steps),
        "cosine": _divided(_divided(along, gradient, steps), gradient, steps),
    }


def _module(rows: list[ModuleVitals], steps: tuple[int, ...]) -> ModuleVitals:
    mean = _figure([row.mean for row in rows], steps, _mean)
    squares = [_plus(_times(row.deviation, row.deviation), _times(row.mean, row.mean)) for row in rows]
    second = _figure(squares, steps, _mean)
    pooled = _figure(
        [second, _times(mean, mean)], steps, lambda values, _: math.sqrt(max(values[0] - sum(values[1:]), 0.0))
    )
    return replace(
        rows[0],
        mean=mean,
        deviation=pooled if rows[0].deviation.values else Figure(),
        zeros=_figure([row.zeros for row in rows], steps, _mean),
        saturated=_figure([row.saturated for row in rows], steps, _mean),
        dead=_figure([row.dead for row in rows], steps, lambda values, _: min(values)),
        never=min(row.never for row in rows),
    )


def _sum(memory: Sequence[MemoryVitals]) -> MemoryVitals:
    columns: dict[str, Any] = {}
    for name in _BYTES:
        of_ranks = [column for one in memory if (column := getattr(one, name))]
        lines = zip(*of_ranks, strict=True)
        columns[name] = tuple(sum(known) if (known := [b for b in line if b is not None]) else None for line in lines)
    return MemoryVitals(**columns)


def _figure(figures: Sequence[Figure], steps: tuple[int, ...], combine: Combine) -> Figure:
    """One figure; a NaN of any rank stays one."""
    if not any(figure.values for figure in figures):
        return Figure()
    values: list[float | None] = []
    for number in range(len(steps)):
        known = [
            (value, place)
            for place, figure in enumerate(figures)
            if figure.values and (value := figure.values[number]) is not None
        ]
        here = [value for value, _ in known]
        nan = any(map(math.isnan, here))
        values.append(math.nan if nan else combine(here, [place for _, place in known]) if known else None)
    finite = [Extreme(v, step) for v, step in zip(values, steps, strict=True) if v is not None and math.isfinite(v)]
    ends = (end(finite, key=lambda each: each.value, default=None) for end in (min, max))
    return Figure(tuple(values), *ends)


def _largest(values: Sequence[float], _: Sequence[int]) -> float:
    return max(values)


def _mean(values: Sequence[float], _: Sequence[int]) -> float:
    return sum(values) / len(values)


def _times(*figures: Figure) -> Figure:
    columns = zip(*(figure.values for figure in figures), strict=False)
    return Figure(tuple(math.prod(map(float, line)) if None not in line else None for line in columns))


def _plus(one: Figure, other: Figure) -> Figure:
    pairs = zip(one.values, other.values, strict=False)
    return Figure(tuple(None if a is None or b is None else a + b for a, b in pairs))


def _divided(one: Figure, other: Figure, steps: tuple[int, ...]) -> Figure:
    if not one.values or not other.values:
        return Figure()
    pairs = zip(one.values, other.values, strict=True)
    quotient = Figure(tuple(None if a is None or not b else a / b for a, b in pairs))
    return _figure([quotient], steps, _largest) if any(value is not None for value in quotient.values) else Figure()
