"""How an in-place edit is kept from what autograd saved."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from autograd_inspector.advice.copies import read_as
from autograd_inspector.advice.remedies.meeting import meeting
from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.remedy import Move, NotInPlace, OutOfPlace, Remedies, Substitute
from autograd_inspector.model.rewrites import StepsLast

_MOST = 16
"""Edits at more lines than these are no local change."""


def kept_apart(
    analysis: Analysis, edits: list[Op], run: Backward, saver: Op | None = None, name: str = ""
) -> Iterator[Remedies]:
    """Ways to keep some in-place edits from what ``run`` needs: later where the memory has to be edited, else apart.

    ``saver``: the op that saved what it read, which the program calls ``name``.
    """
    called = [analysis.capture.calls[e.call] for e in edits if e.call >= 0 and analysis.capture.calls[e.call].inplace]
    if called:
        frames = [frame for call in called for frame in analysis.capture.site(call.site) if not frame.library]
        yield from ((NotInPlace(frame, called[0].type),) for frame in frames)
        return
    by_site = {edit.site: edit for edit in edits}
    if not by_site or len(by_site) > _MOST:
        return
    if any(_has_to_last(analysis, edit) for edit in by_site.values()):
        yield from _behind(analysis, by_site, run)
        if saver is not None and not any(edit.has(Trait.STEP) for edit in by_site.values()):
            yield from reads_copy(analysis, saver, name)
        return
    places = [(analysis.capture.place(site), edit) for site, edit in by_site.items()]
    apart = tuple(out_of_place(analysis, edit, place) for place, edit in places if place is not None)
    own_line = {line_of(analysis, edit.site) for edit in edits}
    if saver is not None and line_of(analysis, saver.site) in own_line:
        if len(apart) == len(places) and all(map(_writes_elsewhere, (place for place, _ in places if place))):
            yield apart
        yield from reads_copy(analysis, saver, name)
        return
    if len(apart) == len(places):
        yield apart
    if saver is not None:
        yield from reads_copy(analysis, saver, name)


def _writes_elsewhere(place: Location) -> bool:
    """Whether a statement assigns to a part of a variable that its own right side does not read: to another name of it."""
    given, _, value = place.source.partition("=")
    owner, part, _ = given.partition("[")
    return bool(part) and not re.search(rf"(?<![\w.]){re.escape(owner.strip())}(?!\w)", value)


def reads_copy(analysis: Analysis, saver: Op, name: str) -> Iterator[Remedies]:
    """The op that saves what it reads is given a copy of it."""
    place, read = analysis.capture.place(saver.site), read_as(analysis, saver, name)
    if place is not None and read:
        yield (Substitute(place, read, "{}.clone()"),)


def _has_to_last(analysis: Analysis, edit: Op) -> bool:
    """Whether the edit is of state: of a parameter, or a step of an optimizer."""
    capture = analysis.capture
    return edit.has(Trait.STEP) or any(
        write.storage in capture.stored or capture.tensors[write.tensor].kind == "buffer" for write in edit.writes
    )


def out_of_place(analysis: Analysis, edit: Op, place: Location) -> OutOfPlace:
    """A new tensor in place of the edit that runs there; a copy, for one without a form that returns a new tensor."""
    assigns = edit.name == "__setitem__"
    only = is_a(edit.name, OpKind.DETACHES | OpKind.IN_PLACE_ONLY)
    return OutOfPlace(place, assigns or only, assigns + _views(analysis, edit), _is_read_later(analysis, edit))


def _is_read_later(analysis: Analysis, edit: Op) -> bool:
    """Whether an op of another line reads the memory before backward has run."""
    runs, line = analysis.capture.backwards, line_of(analysis, edit.site)
    following = bisect_right(runs, edit.index, key=lambda run: run.start)
    end = runs[following].start if following < len(runs) else len(analysis.capture.ops)
    return any(analysis.memory_reads.on_another_line(write.storage, line, edit.index + 1, end) for write in edit.writes)


def _views(analysis: Analysis, edit: Op) -> int:
    """How many views, one of the other, the edit's own line takes of a tensor to modify a part of it."""
    line, count = line_of(analysis, edit.site), 0
    tensor = next(iter(edit.inputs), -1)
    while tensor >= 0:
        made = analysis.flow.birth(tensor)
        if made is None or not is_a(made.name, OpKind.VIEWS) or line_of(analysis, made.site) != line:
            return count
        count += 1
        tensor = next(iter(made.inputs), -1)
    return count


def kept_until(analysis: Analysis, edits: list[Op], needed: Op) -> Iterator[Remedies]:
    """Ways to keep some edits from a recomputation, which looks names up again: the edits come after the backward."""
    run = next((run for run in analysis.capture.backwards if run.start <= needed.index < run.end), None)
    if run is not None:
        yield from _behind(analysis, dict.fromkeys(edit.site for edit in edits), run)


def _behind(analysis: Analysis, sites: Iterable[int], run: Backward) -> Iterator[Remedies]:
    """All that runs at those sites comes behind the backward."""
    pairs = [meeting(analysis, site, run.site) for site in sites]
    moved = tuple(Move(*pair) for pair in pairs if pair is not None)
    if len(moved) == len(pairs):
        yield moved
    for pair in pairs:
        if pair is not None and pair[0].lineno > pair[1].lineno and not _held_twice(analysis):
            yield (StepsLast(*pair),)  # It ran in the round before.


def _held_twice(analysis: Analysis) -> bool:
    """Whether two optimizers hold one parameter: stepping after all losses, both would use the same gradient."""
    held = [tensor for one in analysis.capture.placement.optimizers for tensor in {*one.held}]
    return len(held) > len(set(held))
