"""Which parameter each saved position belongs to, and which one would get it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from autograd_inspector.analysis.checkpoints.resume import Resume
from autograd_inspector.analysis.checkpoints.state_kinds import ELEMENTWISE
from autograd_inspector.model.checkpoint import SavedParameter
from autograd_inspector.model.placement_rows import ParameterRow
from autograd_inspector.model.renaming import bare

Shape = tuple[int, ...]


class Positions:
    """The saved positions beside the optimizer's parameters, for groups that load_state_dict accepts."""

    def __init__(self, resume: Resume) -> None:
        self.resume = resume
        self.saved = resume.saved.parameters if resume.saved is not None else ()
        self.rows = resume.rows
        self.pairs: list[tuple[SavedParameter, ParameterRow]] = (
            list(zip(self.saved, self.rows, strict=True)) if resume.same_groups else []
        )

    @cached_property
    def misfits(self) -> list[int]:
        """Positions whose saved state has another shape than the parameter that would get it."""
        return [i for i, (saved, row) in enumerate(self.pairs) if shape_at(saved) not in (None, row.shape)]

    @cached_property
    def order(self) -> list[int] | None:
        """For each saved position the parameter that it belongs to, when that is another order than the optimizer's.

        Proved by the names that the groups carry; else by shapes, when they are those of the parameters in another order.
        """
        if not self.pairs:
            return None
        by_name = self._named()
        if by_name is not None:
            return by_name if by_name != list(range(len(self.rows))) else None
        if not self.misfits:
            return None
        shapes = [shape_at(saved) for saved in self.saved]
        if None in shapes or Counter(shapes) != Counter(row.shape for row in self.rows):
            return None
        return self._model_order(shapes) or _greedy(shapes, self.rows)

    def _named(self) -> list[int] | None:
        theirs = [bare(saved.name) for saved in self.saved]
        place_of_name = {bare(name): i for i, name in enumerate(self.resume.names)}
        if not all(theirs) or set(theirs) != set(place_of_name) or len(place_of_name) != len(self.rows):
            return None
        return [place_of_name[name] for name in theirs]

    def _model_order(self, shapes: Sequence[Shape | None]) -> list[int] | None:
        """The order of ``model.parameters()``, when the saved shapes follow it."""
        places = {row.tensor: i for i, row in enumerate(self.rows)}
        names = {name: i for i, row in enumerate(self.rows) for name in row.names}
        order = [names[slot.name] for slot in self.resume.target.slots if slot.name in names]
        order = list(dict.fromkeys(order))
        if len(order) != len(places) or [self.rows[i].shape for i in order] != list(shapes):
            return None
        return order


def shape_at(saved: SavedParameter) -> Shape | None:
    """The shape that the state says its parameter had."""
    return next((entry.shape for entry in saved.state if entry.name in ELEMENTWISE), None)


def _greedy(shapes: Sequence[Shape | None], rows: Sequence[ParameterRow]) -> list[int]:
    free = list(range(len(rows)))
    places = []
    for shape in shapes:
        place = next(i for i in free if rows[i].shape == shape)
        free.remove(place)
        places.append(place)
    return places
