"""Who wrote a parameter besides an optimizer's step, from what, and who computed with its value in between."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.classifier import differentiable
from autograd_inspector.analysis.memory.assigned_data import assigns
from autograd_inspector.analysis.memory.restored import copied_in
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op, Trait, Write

ASIDE = Trait.STEP | Trait.BACKWARD
_KEEPS = OpKind.ALIASES | OpKind.COPIES | OpKind.CONVERTS | OpKind.KEEPS_ORDER
_LEAVES = OpKind.EXTRACTS_WHOLE | OpKind.PICKLES
_MOST = 64
"""Ops that a value may go through before it counts as computed with."""


class Ledger:
    """The writes and reads of parameters, asked for one after the other."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis, self._capture = analysis, analysis.capture
        self._shown: dict[int, list[int]] = {}
        for record in self._capture.tensors:
            if record.storage >= 0:
                self._shown.setdefault(record.storage, []).append(record.id)

    def next_write(self, tensor: int, after: int) -> tuple[Op, Write] | None:
        """The first write to a parameter behind an op, steps included."""
        end = len(self._capture.ops)
        writes = self._analysis.writes_to(self._capture.tensors[tensor].storage, tensor, after + 1, end)
        return next(((op, write) for op, write in writes if not op.has(Trait.BACKWARD)), None)

    def by_hand(self, tensor: int, start: int, end: int) -> list[tuple[Op, Write]]:
        """The writes by ops ``start`` to ``end`` that are no step's."""
        writes = self._analysis.writes_to(self._capture.tensors[tensor].storage, tensor, start, end)
        return [(op, write) for op, write in writes if not op.has(ASIDE)]

    def replaces(self, op: Op, write: Write, tensor: int, since: int) -> bool:
        """Whether a write gives all of a parameter other values, and these are none that it was given before.

        They were computed, or written, behind op ``since``, or are random. What is set to a constant, or to a copy of
        older values, is held fast on purpose.
        """
        target, parameter = self._capture.tensors[write.tensor], self._capture.tensors[tensor]
        if (target.offset, target.extent, target.shape) != (parameter.offset, parameter.extent, parameter.shape):
            return False
        if is_a(op.name, OpKind.FILLS_RANDOMLY):
            return True
        source = written_from(op, write)
        if source is None or self._capture.tensors[source].storage == parameter.storage:
            return False
        return self._is_new(source, since, op.index)

    def _is_new(self, tensor: int, since: int, before: int) -> bool:
        record = self._capture.tensors[tensor]
        while before > since:
            writes = self._analysis.writes_in(record.storage, since, before) if record.storage >= 0 else ()
            if any(not is_a(op.name, OpKind.SETS_NUMBER) for op, _ in writes):
                return True
            made = self._capture.ops[record.birth] if 0 <= record.birth < before else None
            if made is None:
                return False
            if not is_a(made.name, _KEEPS) or not made.inputs:
                return made.index > since and not is_a(made.name, OpKind.RETURNS_CONSTANT | OpKind.RETURNS_ZEROS)
            copied = record.storage != self._capture.tensors[made.inputs[0]].storage
            before = made.index if copied else before  # What its source was then.
            record = self._capture.tensors[made.inputs[0]]
        return False

    def rounded(self, op: Op, write: Write, tensor: int, since: int) -> Op | None:
        """The op that rounds a parameter, where what a write puts in its place depends on it by that op alone.

        On what it has been since op ``since``: a scale may have been taken of it before. One that is taken of it now
        is a number, or one for each channel, and leaves the rounded values where they are.
        """
        source = self._source(op, write)
        if source is None:
            return op if is_a(op.name, OpKind.PIECEWISE_CONSTANT) and write.tensor in op.inputs else None
        found: Op | None = None
        ways = self._analysis.flow.upstream(
            [(source, op.index)],
            lambda each, made: each.index > since and not _rounds(each) and not self._is_scale(made, tensor),
        )
        for made, _ in ways:
            if made.index <= since:
                continue
            inside = self._within(made) or [made]
            rounding = next(filter(_rounds, inside), None)
            if any(self._reads_all(each, tensor) for each in inside if not _rounds(each)):
                return None
            found = rounding or found
        return found

    def _source(self, op: Op, write: Write) -> int | None:
        """What it wrote from, also in compiled code, where a write by way of an alias is told of the parameter itself."""
        source, tensors = written_from(op, write), self._capture.tensors
        if source is None and op.name == "copy_" and len(op.inputs) == 2 and op.writes == (write,):
            return op.inputs[1] if tensors[op.inputs[0]].shape == tensors[write.tensor].shape else None
        return source

    def _within(self, function: Op) -> list[Op]:
        """The ops in the forward of a custom Function that made its results, up to the ones that round, the last first."""
        ops, found = self._capture.ops, list[Op]()
        needed = set(function.outputs)
        at = function.index - 1 if function.has(Trait.FUNCTION) else -1
        while at >= 0 and ops[at].has(Trait.INNER):
            if not needed.isdisjoint(ops[at].outputs):
                found.append(ops[at])
                needed.update(t for t in ops[at].inputs if not _rounds(ops[at]) and not self._is_number(t))
            at -= 1
        return found

    def _reads_all(self, op: Op, tensor: int) -> bool:
        """Whether it computes more than a scale of what the parameter is."""
        tensors, storage = self._capture.tensors, self._capture.tensors[tensor].storage
        made = (t for t in op.outputs if tensors[t].storage != storage and not self._is_scale(t, tensor))
        return any(tensors[t].storage == storage for t in op.inputs) and any(True for _ in made)

    def _is_scale(self, made: int, tensor: int) -> bool:
        """Whether it has fewer entries than the parameter: one for each row or channel, or for all of it."""
        shapes = (self._capture.tensors[each].shape for each in (made, tensor))
        return self._is_number(made) or prod(next(shapes)) < prod(next(shapes))

    def _is_number(self, tensor: int) -> bool:
        return all(size == 1 for size in self._capture.tensors[tensor].shape)

    def computed_with(self, tensor: int, start: int, end: int) -> bool:
        """Whether something uses what the parameter is between two ops, and not only looks at it.

        To look is to compare, to log a number, or to keep a copy that nothing reads. What is computed and then kept, or
        handed to somebody, is used.
        """
        readers = self._readers(self._capture.tensors[tensor].storage, start, end)
        return any(self._uses(op) for op in readers)

    def _readers(self, storage: int, start: int, end: int) -> Iterator[Op]:
        """What is given the memory between two ops. An alias of it only shows it."""
        for shown in self._shown.get(storage, ()):
            for at in self._capture.readers.get(shown, ()):
                op = self._capture.ops[at]
                shows = any(self._capture.tensors[out].storage == storage for out in op.outputs) and not op.writes
                if start < at < end and not shows:
                    yield op

    def _uses(self, read: Op) -> bool:
        todo, seen = [read], {read.index}
        while todo:
            op = todo.pop()
            if op.call >= 0 or op.writes or op.has(ASIDE) or is_a(op.name, _LEAVES) or len(seen) > _MOST:
                return True
            if op.recorded and not is_a(op.name, _KEEPS):
                return True
            for out in op.outputs if not op.has(Trait.EXPORT) else ():
                readers = self._capture.readers.get(out, ())
                if not readers and not is_a(op.name, _KEEPS) and differentiable(self._capture.tensors[out].dtype):
                    return True
                following = [at for at in readers if at not in seen]
                seen.update(following)
                todo += [self._capture.ops[at] for at in following]
        return False


def _rounds(op: Op) -> bool:
    return is_a(op.name, OpKind.PIECEWISE_CONSTANT)


def written_from(op: Op, write: Write) -> int | None:
    """The tensor whose numbers, or whose memory, an op gave to what it wrote."""
    return op.inputs[0] if assigns(op) and len(op.inputs) == 1 else copied_in(op, write)
