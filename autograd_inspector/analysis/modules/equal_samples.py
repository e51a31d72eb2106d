"""Results that are put together as if they were random samples, and are all the same: a dropout in eval mode drops nothing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.draws import draws
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.read_values import Value
from autograd_inspector.model.op import ModuleCall, Op, Trait

_FEWEST = 3
"""Two equal results may be two looks at one thing."""
_MORE = 2 * _FEWEST
_TOGETHER = OpKind.STACKS | OpKind.CONCATENATES | OpKind.ADDS
_Given = tuple[tuple[str, tuple[Value, ...]], ...]
"""What the ops of a call read that was there before it."""


class EqualSamples(Struct, frozen=True):
    """Calls of one module that computed the same each time, and the op that puts their results together.

    ``silent`` are the calls of dropouts in the first of them, which drop nothing in eval mode.
    """

    calls: tuple[ModuleCall, ...]
    together: Op
    silent: tuple[ModuleCall, ...]


def equal_samples(analysis: Analysis) -> Iterator[EqualSamples]:
    """One record for each line that calls the module."""
    samples = Samples(analysis)
    for calls, op in samples.together():
        dropouts = [analysis.capture.calls[number] for number in samples.silent[calls[0].id]]
        yield EqualSamples(calls, op, tuple(dropouts))


class Samples:
    """The calls that the program makes, and which of them compute the same."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._capture = analysis.capture
        self._behind: dict[int, tuple[int, ...]] = {}

    def together(self) -> Iterator[tuple[tuple[ModuleCall, ...], Op]]:
        """(calls of one module with the same input, the op that puts their results together), for each calling line."""
        told: set[int] = set()
        for op in self._capture.ops if self.silent else ():
            if op.call < 0 and is_a(op.name, _TOGETHER) and not op.has(Trait.BACKWARD):
                calls = self.equal(self.behind(op))
                if len(calls) >= _FEWEST and calls[0].site not in told:
                    told.add(calls[0].site)
                    yield calls, op

    @cached_property
    def silent(self) -> dict[int, list[int]]:
        """Call of the program -> the calls in it of dropouts that drop nothing in eval mode; only where nothing draws."""
        silent: dict[int, dict[int, None]] = {}
        noisy: set[int] = set()
        for op in self._capture.ops:
            if op.call >= 0 and op.has(Trait.EVALUATES) and not is_a(op.name, OpKind.KEEPS_STATISTICS):
                silent.setdefault(self._capture.outermost_call(op.call).id, {})[op.call] = None
            elif op.call >= 0 and draws(op):
                noisy.add(self._capture.outermost_call(op.call).id)
        return {call: list(inner) for call, inner in silent.items() if call not in noisy}

    def behind(self, op: Op) -> tuple[int, ...]:
        """The calls of the program whose results an op outside of them puts together; a few of them, where they are many."""
        found: dict[int, None] = {}
        for tensor in op.inputs:
            for call in self._calls_behind(tensor, op.index):
                found[call] = None
                if len(found) >= _MORE:
                    break
        self._behind[op.index] = tuple(found)
        return tuple(found)

    def _calls_behind(self, tensor: int, before: int) -> tuple[int, ...]:
        """From what computed the tensor back to the calls, through ops of the program on one tensor."""
        for index in self._analysis.flow.producers(tensor, before):
            op = self._capture.ops[index]
            while op.call < 0 and op.index not in self._behind and len(op.inputs) == 1:
                made = self._analysis.flow.producers(op.inputs[0], op.index)
                if not made:
                    return ()
                op = self._capture.ops[made[-1]]
            if op.call >= 0:
                return (self._capture.outermost_call(op.call).id,)
            return self._behind.get(op.index, ())
        return ()

    def equal(self, calls: tuple[int, ...]) -> tuple[ModuleCall, ...]:
        """Those that compute the same as the first of them, called at the same line."""
        calls = tuple(call for call in calls if call in self.silent)
        if len(calls) < _FEWEST:
            return ()
        first = self._capture.calls[calls[0]]
        given = self._given[calls[0]]
        records = [self._capture.calls[call] for call in calls if self._given[call] == given]
        return tuple(c for c in records if (c.root, c.path, c.site) == (first.root, first.path, first.site))

    @cached_property
    def _given(self) -> dict[int, _Given]:
        """What each of the silent calls was computed from."""
        ops: dict[int, list[Op]] = {call: [] for call in self.silent}
        for op in self._capture.ops:
            outer = self._capture.outermost_call(op.call).id if op.call >= 0 else -1
            if outer in ops:
                ops[outer].append(op)
        return {call: self._read_by(own) for call, own in ops.items()}

    def _read_by(self, ops: list[Op]) -> _Given:
        made = {tensor for op in ops for tensor in op.outputs}
        own = self._analysis.read_values.of
        return tuple((op.name, tuple(v for v in own(op) if v[0] not in made and self.counts(v[0]))) for op in ops)

    def counts(self, _tensor: int) -> bool:
        """Whether two calls that read other values of a tensor are told apart."""
        return True
