"""What of the vitals is said where no heat map is: the ten most telling rows, each with its line over the steps."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from autograd_inspector.model.checkpoint_saving import CheckpointSaving
from autograd_inspector.model.vitals import Vitals
from autograd_inspector.model.wording import agree, counted
from autograd_inspector.views.display_text import shown, size
from autograd_inspector.views.summaries.vitals import Quantity, VitalsRow, quantities_of

LEVELS = "▁▂▃▄▅▆▇█"
SAVINGS = 3
_ROWS = 10
_WIDTH = 32
_COSINE = "cosine"
"""Near 1 as well as near 0 it is what many layers have: that tells nothing without the layers around."""
_ZERO, _BAD, _NOTHING = "_", "!", " "


class TellingRow(Struct, frozen=True):
    """``gradient norm``, ``net.0``, ``0.1 → 0.02``, and the values over the steps as block characters."""

    title: str
    label: str
    said: str
    line: str


class TellingRows(Struct, frozen=True):
    """``span``: which steps; ``rest``: so many rows are not among these."""

    span: str
    rows: tuple[TellingRow, ...]
    rest: int


def telling_rows(vitals: Vitals, models: Sequence[str] = ()) -> TellingRows | None:
    """What differs most from its neighbours, or changed most; None where nothing was measured."""
    quantities = quantities_of(vitals, models)
    if not quantities:
        return None
    ranked = sorted(
        ((telling(row, quantity), -number, quantity, row) for number, quantity in enumerate(quantities)
         for row in quantity.rows if quantity.key != _COSINE),
        key=lambda entry: entry[:2],
        reverse=True,
    )  # fmt: skip
    first, last = vitals.steps[0], vitals.steps[-1]
    span = f"step {first:,}" if first == last else f"steps {first:,} to {last:,}"
    rows = tuple(
        TellingRow(quantity.title, shown(row.label, 60), said(row), line(row, quantity))
        for _, _, quantity, row in sorted(ranked[:_ROWS], key=lambda entry: -entry[1])
    )
    return TellingRows(f"{span}, {counted(vitals.seen, 'step')} measured", rows, max(len(ranked) - _ROWS, 0))


def saved_by(saving: CheckpointSaving) -> str:
    """What checkpoints around a module, or around several, would change."""
    many = f" ({len(saving.modules)} × {saving.type})" if len(saving.modules) > 1 else f" ({saving.type})"
    return (
        f"checkpointing {shown(saving.name, 60)}{many} keeps {size(saving.held)} for backward"
        f" instead of {size(saving.before)}; {counted(saving.ops, 'op')} {agree(saving.ops, 'runs', 'run')} twice"
    )


def telling(row: VitalsRow, quantity: Quantity) -> float:
    """How much there is to see in a row: values that are not finite, then zeros, then its distance from the others."""
    values = [value for value in row.values if value is not None]
    if not values:
        return -1.0
    if not all(map(math.isfinite, values)):
        return 1_000.0
    if not quantity.logarithmic:
        return 2 * max(values)
    if values[-1] == 0:
        return 100.0
    others = sorted(abs(_log(one.values)) for one in quantity.rows)
    middle = others[len(others) // 2]
    span = [math.log10(value) for value in values if value > 0]
    return abs(abs(_log(row.values)) - middle) + (max(span) - min(span) if span else 0.0)


def said(row: VitalsRow) -> str:
    """The first and the last value."""
    values = [value for value in row.values if value is not None]
    ends = dict.fromkeys((f"{values[0]:.2g}", f"{values[-1]:.2g}"))
    return " → ".join(ends)


def line(row: VitalsRow, quantity: Quantity) -> str:
    """The row over the kept steps; a zero is ``_``, a NaN or an infinity ``!``."""
    values = _thinned(row.values, _WIDTH)
    scaled = [None if v is None else _height(v, logarithmic=quantity.logarithmic) for v in values]
    finite = [v for v in scaled if v is not None and math.isfinite(v)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    return "".join(_sign(v, low, high) for v in scaled)


def _sign(value: float | None, low: float, high: float) -> str:
    if value is None:
        return _NOTHING
    if value == -math.inf:
        return _ZERO
    if not math.isfinite(value):
        return _BAD
    return LEVELS[round((value - low) / (high - low) * (len(LEVELS) - 1))] if high > low else LEVELS[0]


def _height(value: float, *, logarithmic: bool) -> float:
    """Minus infinity for an exact zero on a logarithmic scale."""
    if not logarithmic or not math.isfinite(value):
        return value if math.isfinite(value) else math.nan
    return math.log10(value) if value > 0 else -math.inf


def _log(values: tuple[float | None, ...]) -> float:
    last = next((v for v in reversed(values) if v is not None and v > 0 and math.isfinite(v)), 1.0)
    return math.log10(last)


def _thinned(values: tuple[float | None, ...], width: int) -> list[float | None]:
    """At most so many, the first and the last among them; one that is not finite goes before others."""
    if len(values) <= width:
        return list(values)
    thinned = []
    for column in range(width):
        start = column * len(values) // width
        part = values[start : (column + 1) * len(values) // width]
        bad = [v for v in part if v is not None and not math.isfinite(v)]
        thinned.append(bad[0] if bad else part[-1] if column else part[0])
    return thinned
