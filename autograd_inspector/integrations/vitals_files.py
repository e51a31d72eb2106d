"""The vitals of a training run for others: scalars for trackers, tables as CSV."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any

from autograd_inspector.api.destinations import own_file, rank_of
from autograd_inspector.model.vitals import Kind, Vitals
from autograd_inspector.views.summaries.vitals import quantities_of
from autograd_inspector.views.whole import write_whole

_KINDS: tuple[Kind, ...] = ("parameters", "modules", "memory")
_LOGGED = {"gradient": "gradient_norm", "update": "update_ratio", "dead": "dead_units", "saturated": "saturated"}
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
_MODULES = 200
"""Of a larger model trackers get the norm of the whole alone."""


def scalars_of(vitals: Vitals, tag: str) -> dict[str, float]:
    """The last step's figures a module, by tags that TensorBoard groups; {} where nothing was measured."""
    scalars: dict[str, float] = {}
    for quantity in quantities_of(vitals):
        name = _LOGGED.get(quantity.key)
        last = {row.label: row.values[-1] for row in quantity.rows}
        values = {label: value for label, value in last.items() if value is not None}
        if name is None or not values:
            continue
        if quantity.key == "gradient":
            scalars[f"{tag}/{name}"] = math.sqrt(sum(value**2 for value in values.values()))
        if len(values) <= _MODULES:
            scalars |= {f"{tag}/{name}/{label}": value for label, value in values.items()}
    return scalars


def write_tables(vitals: Vitals, folder: Path) -> None:
    """``vitals-parameters.csv``, ``-modules``, ``-memory``: a line a row and step; of several ranks one each."""
    for kind in _KINDS:
        records = vitals.records(kind)
        if records:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / own_file(f"vitals-{kind}.csv", rank=rank_of())
            write_whole(path, _csv(records))


def _csv(records: list[dict[str, Any]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _told(value) for key, value in record.items()} for record in records)
    return text.getvalue()


def _told(value: Any) -> Any:
    """A name that a spreadsheet would take for a formula is text."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value
