"""Saved groups of other sizes beside the optimizer's parameters: which are new, which are gone, in which order."""

from __future__ import annotations

from collections.abc import Sequence

from autograd_inspector.advice.before_load.position import shape_at
from autograd_inspector.analysis.checkpoints.resume import Resume
from autograd_inspector.model.checkpoint import SavedParameter
from autograd_inspector.model.placement_rows import ParameterRow
from autograd_inspector.model.renaming import bare


def in_saved_order(resume: Resume) -> list[ParameterRow]:
    """The rows in the saved order, as far as names or shapes tell it."""
    assert resume.saved is not None  # noqa: S101 - group_problems() asked
    row_of_name = {bare(name): row for name, row in zip(resume.names, resume.rows, strict=True)}
    theirs = [bare(parameter.name) for parameter in resume.saved.parameters]
    if set(theirs) == set(row_of_name):
        return [row_of_name[name] for name in theirs]
    free = list(resume.rows)
    model = {name: row for row in resume.rows for name in row.names}
    by_model = list({model[s.name].tensor: model[s.name] for s in resume.target.slots if s.name in model}.values())
    if len(by_model) == len(free) and all(
        shape_at(p) in (None, row.shape) for p, row in zip(resume.saved.parameters, by_model, strict=True)
    ):
        return by_model
    paired_rows = []
    for parameter in resume.saved.parameters:
        shape = shape_at(parameter)
        paired_rows.append(next((row for row in free if shape in (None, row.shape)), free[0]))
        free.remove(paired_rows[-1])
    return paired_rows


def aligned(
    rows: Sequence[ParameterRow], theirs: Sequence[SavedParameter], names: Sequence[str]
) -> tuple[list[int], list[int]]:
    """(parameters that were not saved, positions that the optimizer has no more): by name, else by shape in order."""
    saved_names = [bare(parameter.name) for parameter in theirs]
    if all(saved_names) and saved_names:
        current_names = [bare(name) for name in names]
        return [i for i, n in enumerate(current_names) if n not in saved_names], [
            i for i, n in enumerate(saved_names) if n not in current_names
        ]
    if len(rows) >= len(theirs):
        new = _subsequence([shape_at(p) for p in theirs], [row.shape for row in rows])
        return (new, []) if new is not None else ([], [])
    gone = _subsequence([row.shape for row in rows], [shape_at(p) for p in theirs])
    return ([], gone) if gone is not None else ([], [])


def _subsequence(short: Sequence[object], long: Sequence[object]) -> list[int] | None:
    """Places of the longer sequence that the shorter one skips; None when it is no part of it."""
    skipped, at = [], 0
    for place, shape in enumerate(long):
        if at < len(short) and (None in (short[at], shape) or short[at] == shape):
            at += 1
        else:
            skipped.append(place)
    return skipped if at == len(short) else None
