"""Random samples of a dropout that are drawn in train mode, in which the statistics of other layers move."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.equal_samples import Samples
from autograd_inspector.analysis.modules.train_mode_effects import differs, each_once
from autograd_inspector.analysis.modules.training_modes import into_train_mode
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import ModuleCall, Op, Trait
from autograd_inspector.model.program_events import ModeSwitched


class MovingSamples(Struct, frozen=True):
    """Calls of one module with one input, without gradients, and the op that puts their results together.

    ``dropping`` and ``counting`` are the calls in the first of them that drop values at random and update running
    statistics. ``switches`` put the module into train mode.
    """

    calls: tuple[ModuleCall, ...]
    together: Op
    dropping: tuple[ModuleCall, ...]
    counting: tuple[ModuleCall, ...]
    switches: tuple[ModeSwitched, ...]


def moving_samples(analysis: Analysis) -> Iterator[MovingSamples]:
    """One record for each line that calls the module."""
    samples, calls = _Moving(analysis), analysis.capture.calls
    for drawn, op in samples.together():
        ops = samples.moving[drawn[0].id]
        yield MovingSamples(
            drawn,
            op,
            each_once(calls[each.call] for each in ops if each.has(Trait.DRAWS)),
            each_once(calls[each.call] for each in ops if is_a(each.name, OpKind.KEEPS_STATISTICS)),
            into_train_mode(analysis, drawn[0]),
        )


class _Moving(Samples):
    """Calls of the program that draw and move statistics, and that autograd does not record."""

    @cached_property
    def moving(self) -> dict[int, list[Op]]:
        """Call of the program -> the ops in it by which train mode shows."""
        found: dict[int, list[Op]] = {}
        recorded: set[int] = set()
        for op in self._capture.ops:
            if op.call >= 0 and differs(self._capture, op):
                outer = self._capture.outermost_call(op.call).id
                found.setdefault(outer, []).append(op)
                if op.recorded or op.has(Trait.BACKWARD):
                    recorded.add(outer)
        return {
            call: ops
            for call, ops in found.items()
            if call not in recorded
            and any(op.has(Trait.DRAWS) for op in ops)
            and any(is_a(op.name, OpKind.KEEPS_STATISTICS) for op in ops)
        }

    @cached_property
    def silent(self) -> dict[int, list[int]]:
        """The calls that are looked at."""
        return {call: [op.call for op in ops] for call, ops in self.moving.items()}

    def counts(self, tensor: int) -> bool:
        """The statistics are others each time."""
        return self._capture.tensors[tensor].kind != "buffer"
