"""Statistics of gradients, updates, activations and memory over the steps of a run.

A run may be long: of each figure a bounded number of steps is kept, dense at both ends, and beside them the exact
smallest and largest value that there was in any step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal

from msgspec import Struct

Kind = Literal["parameters", "modules", "memory"]


class Extreme(Struct, frozen=True, gc=False):
    """A value, and the step (counted from 1) that first had it."""

    value: float
    step: int


class Figure(Struct, frozen=True, omit_defaults=True):
    """One quantity of one row.

    ``values`` are those of the steps that are kept (``Vitals.steps``), rounded to 4 digits: None in a step in which it
    was not measured, () where it was in none. ``least`` and ``largest`` are the extremes of all
    steps that were measured and finite.
    """

    values: tuple[float | None, ...] = ()
    least: Extreme | None = None
    largest: Extreme | None = None

    @property
    def last(self) -> float | None:
        """The latest value that was measured, None where there is none."""
        return next((value for value in reversed(self.values) if value is not None), None)

    @property
    def measured(self) -> list[float]:
        """The finite ones of the values that are kept."""
        return [value for value in self.values if value is not None and math.isfinite(value)]


class ParameterVitals(Struct, frozen=True, omit_defaults=True):
    """A parameter, as each step of its optimizer met it.

    Norms are 2-norms, added up in float32 at least. ``gradient``: norm of the gradient that the step was given;
    ``entry``: that gradient's largest magnitude; ``zeros``: share of its entries that are exactly 0; ``weight``: norm
    of the parameter before the step; ``update``: norm of what the step changed, over that of the parameter before;
    ``cosine``: cosine similarity of the gradient and that of the step measured before, over some entries in which
    neither is 0; of weights with two dimensions at least.
    """

    name: str
    tensor: int
    """In the capture; -1: it was gone when the capture ended."""
    numel: int
    gradient: Figure = Figure()
    entry: Figure = Figure()
    zeros: Figure = Figure()
    weight: Figure = Figure()
    update: Figure = Figure()
    cosine: Figure = Figure()
    nonfinite: int = 0
    """Steps in which the gradient held a NaN or an infinity."""
    first_nonfinite: int = -1
    part: bool = False
    """It is a DTensor: the figures are those of this rank's part."""
    held: int = 0
    """Entries of it on this rank."""

    @property
    def label(self) -> str:
        """Its name."""
        return self.name


class ModuleVitals(Struct, frozen=True, omit_defaults=True):
    """What a module returned, or an activation function made in it, in the first call of each training step.

    ``mean``, ``deviation`` (standard deviation), ``zeros`` (share of exact zeros), ``saturated`` (share of entries at
    which the function's derivative is below a hundredth of its largest; of activation functions only), ``dead`` (share
    of units that were 0 for the whole batch; of functions that can return 0 for good, such as ReLU).
    """

    path: str
    """Of the module; "" for a model itself."""
    op: str = ""
    """The activation function, where it is called in a module that does more than that."""
    type: str = ""
    """The module's class."""
    site: int = -1
    """Where the function was called last; -1 of a module."""
    mean: Figure = Figure()
    deviation: Figure = Figure()
    zeros: Figure = Figure()
    saturated: Figure = Figure()
    dead: Figure = Figure()
    units: int = 0
    """How many units it has, where dead ones are counted."""
    never: int = 0
    """How many of them were 0 in every call that was measured."""

    @property
    def label(self) -> str:
        """``blocks.0.act``, ``blocks.0 relu``."""
        return " ".join(filter(None, (self.path, self.op))) or self.type


class MemoryVitals(Struct, frozen=True, omit_defaults=True):
    """Bytes at each step that is kept, each memory counted once; None: not measured.

    ``peak``: the most that was alive since the step before ended, on the accelerators where the program uses any, else
    on the host; ``peak_op``: what ran then, such as "linear in blocks.3" or "backward of linear in blocks.3", "" where
    that is not known; ``peak_site``: its line, in the capture, -1 unknown.
    """

    parameters: tuple[int | None, ...] = ()
    gradients: tuple[int | None, ...] = ()
    state: tuple[int | None, ...] = ()
    saved: tuple[int | None, ...] = ()
    peak: tuple[int | None, ...] = ()
    peak_op: tuple[str, ...] = ()
    peak_site: tuple[int, ...] = ()


class LossScale(Struct, frozen=True, omit_defaults=True):
    """A GradScaler's scale after each of its updates, as far as they are kept; ``skipped``: updates that lowered it."""

    updates: tuple[int, ...] = ()
    values: tuple[float, ...] = ()
    skipped: int = 0


_PARAMETER = ("gradient", "entry", "zeros", "weight", "update", "cosine")
_MODULE = ("mean", "deviation", "zeros", "saturated", "dead")
_MEMORY = ("parameters", "gradients", "state", "saved", "peak", "peak_op")


class Vitals(Struct, frozen=True, omit_defaults=True):
    """Of ``inspect(values=True)``: one column a kept training step, one row a parameter, a module, a kind of memory."""

    steps: tuple[int, ...] = ()
    """The numbers of the steps that are kept, counted from 1, first and last among them."""
    seen: int = 0
    """How many steps were measured."""
    parameters: tuple[ParameterVitals, ...] = ()
    modules: tuple[ModuleVitals, ...] = ()
    memory: MemoryVitals = MemoryVitals()
    scale: LossScale = LossScale()

    def __bool__(self) -> bool:
        return bool(self.steps)

    def records(self, of: Kind = "parameters") -> list[dict[str, Any]]:
        """One dictionary a row and kept step, all with the same keys; None where nothing was measured.

        ``of``: "parameters", "modules" or "memory"; raises ValueError for anything else.
        """
        if of not in {"parameters", "modules", "memory"}:
            raise ValueError(f'vitals are of "parameters", "modules" or "memory", not of {of!r}')
        return list(self._records(of))

    def to_dataframe(self, of: Kind = "parameters") -> Any:
        """:meth:`records` as a pandas.DataFrame; raises ImportError in one line when pandas is not installed."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("to_dataframe() needs pandas: pip install pandas (vitals.records() does not)") from None
        return pd.DataFrame.from_records(self.records(of))

    def _records(self, of: Kind) -> Iterator[dict[str, Any]]:
        if of == "memory":
            for place, step in enumerate(self.steps):
                columns = {name: getattr(self.memory, name) for name in _MEMORY}
                yield {"step": step, **{name: column[place] if column else None for name, column in columns.items()}}
            return
        rows: tuple[Any, ...] = self.parameters if of == "parameters" else self.modules
        key, figures = ("parameter", _PARAMETER) if of == "parameters" else ("module", _MODULE)
        for row in rows:
            label = row.name if of == "parameters" else row.label
            for place, step in enumerate(self.steps):
                columns = {name: getattr(row, name).values for name in figures}
                measured = {name: values[place] if values else None for name, values in columns.items()}
                if any(value is not None for value in measured.values()):
                    yield {key: label, "step": step, **measured}
