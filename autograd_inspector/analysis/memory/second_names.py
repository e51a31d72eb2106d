"""Tensors that the program modifies under one name and goes on reading under another, as if that were a copy.

What was observed: the write, and that both names were read as operands afterwards, on ways to a loss. The text tells which names these
are, and that the tensor had both of them when it was modified.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import writing
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op, Trait, Write
from autograd_inspector.model.program_events import NamedAgain
from autograd_inspector.source.operand_names import assigned_names, operand_names, written_name

_ASIDE = Trait.BACKWARD | Trait.STEP | Trait.INNER
_KEEPS_SIGN = OpKind.RESHAPES | OpKind.CONVERTS | OpKind.ADDS | OpKind.VIEWS
_DEEPEST = 8


class SecondName(Struct, frozen=True):
    """``op`` modifies ``tensor``, which ``kept`` stands for as well as ``changed``; ``reads`` read it afterwards.

    ``named``: the statement that gave it a name, where an assignment did. ``module``: the class of the module that
    overwrites its input (``inplace=True``), where that is how it was modified, in the call at the place ``called``.
    """

    op: Op
    tensor: int
    kept: str
    changed: str
    reads: tuple[Op, ...]
    named: NamedAgain | None = None
    module: str = ""
    called: Location | None = None


def second_names(analysis: Analysis) -> Iterator[SecondName]:
    """One for each statement that gave the name, or each line that overwrites an input."""
    query = _SecondNames(analysis)
    told: set[tuple[object, ...]] = set()
    for op in writing(analysis.capture):
        for write in op.writes if not op.has(_ASIDE) else ():
            found = query.of(op, write)
            if found is not None:
                key = "" if found.named else found.kept, analysis.capture.place((found.named or op).site)
                if key not in told:
                    told.add(key)
                    yield found


def named_twice(analysis: Analysis, op: Op) -> NamedAgain | None:
    """The assignment by which two operands of an op, or of a call that led to it, are one tensor.

    A name that stands for one of several counts where the op did get one tensor twice.
    """
    twice = len(set(op.inputs)) < len(op.inputs)
    events = [event for event in analysis.capture.events_of(NamedAgain) if twice or not event.chosen]
    for frame in analysis.capture.site(op.site) if events else ():
        operands = operand_names(frame.expression, op.name)
        for event in events:
            place = analysis.capture.place(event.site)
            above = place is not None and place.scope == frame.scope and place.lineno < frame.lineno
            if above and operands.issuperset((event.name, event.of)):
                return event
    return None


class _SecondNames:
    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._capture = analysis.capture

    def of(self, op: Op, write: Write) -> SecondName | None:
        """The first pair of names that holds for a write."""
        record = self._capture.tensors[write.tensor]
        if record.of_model or record.storage in self._capture.stored:
            return None
        frames = [frame for frame in self._capture.site(op.site) if not frame.library]
        whole = self._whole(write.tensor, op)
        for at, frame in enumerate(frames):
            found = self._assigned(op, whole, frames, at) or self._overwritten(op, whole, frame)
            if found is not None:
                return found
        return None

    def _whole(self, tensor: int, op: Op) -> int:
        """The tensor that a written view is a part of, where the op's own line took it."""
        made = self._analysis.flow.birth(tensor)
        while made is not None and made.inputs and is_a(made.name, OpKind.VIEWS) and self._line(made) == self._line(op):
            tensor = made.inputs[0]
            made = self._analysis.flow.birth(tensor)
        return tensor

    def _line(self, op: Op) -> object:
        place = self._capture.place(op.site)
        return None if place is None else place.line

    def _assigned(self, op: Op, tensor: int, frames: Sequence[Location], at: int) -> SecondName | None:
        """An assignment in a function on the stack, above the line that led to the write."""
        frame = frames[at]
        handed = operand_names(frame.expression, op.name) if at else frozenset((written_name(frame.expression),))
        for event, line in self._named.get(frame.scope, ()):
            names = {event.name, event.of}
            if line >= frame.lineno or names.isdisjoint(handed) or not self._there(tensor, frame, line):
                continue
            changed = event.of if event.of in handed else event.name
            kept = next(iter(names - {changed}))
            reads = self._reads(op, tensor, frame)
            others = (changed, *(assigned_names(frame.target) if at else ()))
            other = next((name for name in others if name in reads), "")
            if kept in reads and other and other != kept:
                return SecondName(op, tensor, kept, changed, (reads[kept], reads[other]), event)
            for outer in frames[at + 1 : at + 2] if not reads else ():
                handed_back = self._reads(op, tensor, outer)
                both = [name for name in assigned_names(outer.target) if name in handed_back]
                if len(both) > 1:
                    return SecondName(op, tensor, kept, changed, tuple(handed_back[n] for n in both[:2]), event)
        return None

    def _overwritten(self, op: Op, tensor: int, frame: Location) -> SecondName | None:
        """A module that overwrites what it is given (``inplace=True``): the caller reads that by its name afterwards."""
        call = self._capture.call_of(op)
        if call is None or not call.inplace or not op.recorded or not self._given(tensor, frame):
            return None
        if self._changes_nothing(op, tensor):
            return None
        reads = self._reads(op, tensor, frame)
        for name in operand_names(frame.expression, op.name):
            # What is assigned to the same name is the result from then on.
            if name in reads and name not in {frame.assigned, *assigned_names(frame.target)}:
                return SecondName(op, tensor, name, name, (reads[name],), module=call.type, called=frame)
        return None

    def _reads(self, op: Op, tensor: int, frame: Location) -> dict[str, Op]:
        """Name -> the first op that reads the tensor by it, after the write, on the lines of a function from there on."""
        reads: dict[str, Op] = {}
        storage = self._capture.tensors[tensor].storage
        for index in self._capture.readers.get(tensor, ()):
            reader = self._capture.ops[index]
            written = any(write.storage == storage for write in reader.writes)
            if index <= op.index or reader.has(_ASIDE) or written or index not in self._used:
                continue
            for place in self._capture.site(reader.site):
                # What the same call reads is read by the names of the function that is called.
                if place.scope == frame.scope and place.lineno >= frame.lineno and place != frame:
                    for name in operand_names(place.expression, reader.name):
                        reads.setdefault(name, reader)
        return reads

    def _there(self, tensor: int, frame: Location, line: int) -> bool:
        """Whether the tensor was there when that line of a function ran, which may be the one that made it."""
        made = self._analysis.flow.birth(tensor)
        places = () if made is None else self._capture.site(made.site)
        return all(place.lineno <= line for place in places if place.scope == frame.scope)

    def _given(self, tensor: int, frame: Location) -> bool:
        """Whether the tensor was made outside of the call at a place, which may have been given it."""
        made = self._analysis.flow.birth(tensor)
        return made is not None and frame not in self._capture.site(made.site)

    def _changes_nothing(self, op: Op, tensor: int) -> bool:
        """Whether a ReLU met only what is not negative: another one had been there before."""
        return is_a(op.name, OpKind.HINGES) and self._not_negative(tensor, op.index, _DEEPEST)

    def _not_negative(self, tensor: int, before: int, deepest: int) -> bool:
        producers = self._analysis.flow.producers(tensor, before)
        if not producers or not deepest:
            return False
        made = self._capture.ops[producers[0]]
        if is_a(made.name, OpKind.HINGES | OpKind.EXPONENTIATES | OpKind.SOFTMAX):
            return True
        return is_a(made.name, _KEEPS_SIGN) and all(
            self._not_negative(each, made.index, deepest - 1) for each in made.inputs
        )

    @cached_property
    def _named(self) -> dict[tuple[str, str], list[tuple[NamedAgain, int]]]:
        """Function -> the assignments of one variable to another in it, with their lines."""
        named: dict[tuple[str, str], list[tuple[NamedAgain, int]]] = {}
        for event in self._capture.events_of(NamedAgain):
            place = self._capture.place(event.site)
            # Of one that may stand for something else the text does not tell what it stood for at the write.
            if place is not None and not event.chosen:
                named.setdefault(place.scope, []).append((event, place.lineno))
        return named

    @cached_property
    def _used(self) -> frozenset[int]:
        """The ops whose results go into a loss."""
        starts = [(root, run.start) for run in self._capture.completed_runs for root in run.roots]
        return frozenset(op.index for op, _ in self._analysis.flow.upstream(starts))
