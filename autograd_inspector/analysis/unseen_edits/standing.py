"""Which edits of a piece of memory still stand at some point: those that were not taken back by then."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.restored import augmented, covers, region, taken, written_back
from autograd_inspector.analysis.unseen_edits.arithmetic import Effect, effect_of, together
from autograd_inspector.model.op import Op, Write
from autograd_inspector.model.tensor import TensorRecord

Edit = tuple[Op, Write]


class Standing(Struct, frozen=True):
    """``certain``: edits that nothing took back. ``doubtful``: those that something seems to have taken back.

    Subtracting what was added gives nearly the same numbers, and a number that went through Python may be put back at
    another place: that the memory is as it was can then not be told from the order of the calls.
    """

    certain: tuple[Edit, ...] = ()
    doubtful: tuple[Edit, ...] = ()


class _Change:
    """One edit; or arithmetic on one part of the memory, that may add up to nothing."""

    def __init__(self, edit: Edit, part: TensorRecord, effect: Effect | None) -> None:
        self.edits = [edit]
        self.part = part
        self.effects = [] if effect is None else [effect]
        self.closed: int | None = None
        """The op that put back, bit by bit, what was there before."""
        self.doubted: int | None = None
        """The op that seems to have put it back."""

    def goes_on(self, part: TensorRecord, effect: Effect) -> bool:
        """Whether the arithmetic continues what was done to that very part."""
        return (
            bool(self.effects)
            and self.effects[0].kind == effect.kind
            and region(self.part) == region(part)
            and together(self.effects) != "nothing"
        )

    def standing(self, end: int) -> str:
        """How it stands when the op of that index runs: "gone", "doubtful" or "certain"."""
        if self.edits[0][0].index >= end or (self.closed is not None and self.closed < end):
            return "gone"
        effects = [effect for (op, _), effect in zip(self.edits, self.effects, strict=False) if op.index < end]
        doubted = (self.doubted is not None and self.doubted < end) or (
            len(effects) > 1 and together(effects) != "something"
        )
        return "doubtful" if doubted else "certain"


class _Followed:
    """The changes to a piece of memory since some op, as far as they were looked at."""

    def __init__(self, start: int) -> None:
        self.start = self.end = start
        self.changes: list[_Change] = []

    def open(self) -> Iterator[_Change]:
        """Those that nothing has put back, the latest first."""
        return (change for change in reversed(self.changes) if change.closed is None)


_NOTHING = Standing((), ())


class Edits:
    """The edits of each piece of memory since some op, followed once."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self._followed: dict[tuple[int, int, int], _Followed] = {}

    def standing(self, storage: int, tensor: int, start: int, end: int) -> Standing:
        """Of all writes to a storage, or to that tensor, since op ``start``: what there is of them at op ``end``."""
        if not self.analysis.written(storage, tensor):
            return _NOTHING  # As of most memory.
        followed = self._followed.setdefault((storage, tensor, start), _Followed(start))
        if end > followed.end:
            for op, write in self.analysis.writes_to(storage, tensor, followed.end, end):
                self._follow(op, write, followed)
            followed.end = end
        edits_by_standing: dict[str, list[Edit]] = {"gone": [], "doubtful": [], "certain": []}
        for change in followed.changes:
            edits_by_standing[change.standing(end)] += [edit for edit in change.edits if edit[0].index < end]
        certain, doubtful = (
            sorted(edits_by_standing[k], key=lambda edit: edit[0].index) for k in ("certain", "doubtful")
        )
        return Standing(tuple(certain), tuple(doubtful))

    def _follow(self, op: Op, write: Write, followed: _Followed) -> None:
        part, effect = self.analysis.capture.tensors[write.tensor], None
        if part.storage == write.storage >= 0:  # Else it has other memory by now.
            if self._put_back(op, write, part, followed) or augmented(self.analysis, op):
                return
            effect = effect_of(self.analysis, op, write)
            last = next((change for change in followed.open() if change.part.overlaps(part)), None)
            if effect is not None and last is not None and last.goes_on(part, effect):
                last.edits.append((op, write))
                last.effects.append(effect)
                return
        followed.changes.append(_Change((op, write), part, effect))

    def _put_back(self, op: Op, write: Write, part: TensorRecord, followed: _Followed) -> bool:
        """Whether the op puts back what was there earlier; closes, or casts doubt on, what was changed since."""
        copy = taken(self.analysis, op, write)
        if copy is not None and self._still_so(copy.index, part, followed):
            for change in followed.open():
                if change.edits[0][0].index > copy.index and covers(part, change.part):
                    change.closed = op.index
            return True
        export = written_back(self.analysis, op, self._exports.get(op.index, ()))
        since = [change for change in followed.open() if change.edits[0][0].index > export >= 0]
        doubted = [change for change in since if part.overlaps(change.part)]
        for change in doubted:
            change.doubted = op.index
        return bool(doubted)

    def _still_so(self, at: int, part: TensorRecord, followed: _Followed) -> bool:
        """Whether what was there at op ``at`` is what is there now, but for the changes since that are open."""
        tensors = self.analysis.capture.tensors
        earlier = self.analysis.writes_to(part.storage, -1, at + 1, followed.start)
        if any(tensors[write.tensor].overlaps(part) for _, write in earlier):
            return False  # It is a copy of something else than what was saved.
        return not any(
            change.edits[0][0].index <= at and change.closed is not None and change.closed > at
            for change in followed.changes
            if change.part.overlaps(part)
        )

    @cached_property
    def _exports(self) -> dict[int, list[int]]:
        exports: dict[int, list[int]] = {}
        for back in self.analysis.capture.scalar_reentries:
            exports.setdefault(back.op, []).append(back.export)
        return exports
