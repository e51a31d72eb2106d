"""Figures over the training steps, and statistics of modules."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class StepFigure(Struct, frozen=True):
    """A figure of each training step: in words, and where it differs from step to step some of its ``values``.

    ``at`` are the steps of those, from 0 on; of a long run each value stands for a stretch, so that no spike is lost.
    """

    label: str
    said: str
    at: tuple[int, ...]
    values: tuple[int, ...]


class StepChange(Struct, frozen=True):
    """What was new in a step (from 1 on), and the line."""

    step: int
    said: str
    place: str


class Steps(Struct, frozen=True):
    """The training steps of a capture, ``count`` in all; ``untold``: so many more changes."""

    said: str
    count: int
    figures: tuple[StepFigure, ...]
    news: tuple[StepChange, ...]
    untold: int


Number = float | Literal["nan", "inf", "-inf"]
"""What JSON has no number for is a word."""


class VitalsRow(Struct, frozen=True):
    """A module in each step that is kept; null: not measured. ``path`` is its place in the models.

    ``peak``: the largest value of all steps, and ``peak_step`` the step that had it; null and -1: there is none.
    """

    label: str
    path: str
    values: tuple[Number | None, ...]
    peak: float | None
    peak_step: int


class Quantity(Struct, frozen=True):
    """One statistic of all modules; ``logarithmic``: over orders of magnitude, an exact zero told apart."""

    key: str
    title: str
    logarithmic: bool
    rows: tuple[VitalsRow, ...]


class MemoryLine(Struct, frozen=True):
    """Bytes of one kind in each step that is kept; null: not measured.

    Of the peak: ``ops``, what ran then, "" unknown, and ``sites``, where, -1 unknown.
    """

    label: str
    values: tuple[int | None, ...]
    ops: tuple[str, ...] = ()
    sites: tuple[int, ...] = ()


class CheckpointSaving(Struct, frozen=True):
    """Bytes for backward with checkpoints around these modules, named together: ``held`` and at most ``peak``.

    ``before``: without them. ``ops``: how many torch calls would run twice.
    """

    name: str
    modules: tuple[str, ...]
    type: str
    before: int
    held: int
    peak: int
    ops: int


class Vitals(Struct, frozen=True):
    """Statistics over the training steps. ``steps``: the numbers of those that are kept, of ``seen`` in all."""

    steps: tuple[int, ...]
    seen: int
    quantities: tuple[Quantity, ...]
    memory: tuple[MemoryLine, ...]
    updates: tuple[int, ...]
    """The updates of the loss scale that are kept, counted from 1, and the scale after each."""
    scale: tuple[Number, ...]
    checkpoints: tuple[CheckpointSaving, ...] = ()
    """The largest savings first."""
