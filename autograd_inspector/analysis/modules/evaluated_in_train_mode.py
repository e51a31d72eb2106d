"""Evaluations in train mode, in a function that names ``eval`` and does not call it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.idle_statements import idle_here
from autograd_inspector.analysis.modules.train_mode_effects import differs, each_once
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import ModuleCall, Op, Trait
from autograd_inspector.model.program_events import StatementIdle


class EvaluatedInTrainMode(Struct, frozen=True):
    """A model's first call without gradients in which train mode shows, and the statement ``model.eval`` that does nothing.

    ``dropping`` and ``counting`` are the calls in it that drop values at random and update running statistics.
    """

    call: ModuleCall
    statement: StatementIdle
    ops: tuple[Op, ...]
    dropping: tuple[ModuleCall, ...]
    counting: tuple[ModuleCall, ...]


def evaluated_in_train_mode(analysis: Analysis) -> Iterator[EvaluatedInTrainMode]:
    """One for each such statement."""
    capture = analysis.capture
    if not any(event.name == "eval" for event in capture.events_of(StatementIdle)):
        return
    told: set[int] = set()
    looks: dict[int, list[Op]] = {}
    for op in capture.ops:
        if op.call >= 0 and not op.recorded and not op.has(Trait.BACKWARD) and differs(capture, op):
            looks.setdefault(capture.outermost_call(op.call).id, []).append(op)
    for number, ops in looks.items():
        for statement in idle_here(analysis, (ops[0].site,), "eval"):
            if statement.site not in told:
                told.add(statement.site)
                calls = [capture.calls[op.call] for op in ops]
                yield EvaluatedInTrainMode(
                    capture.calls[number],
                    statement,
                    tuple(ops),
                    each_once(c for c, op in zip(calls, ops, strict=True) if op.has(Trait.DRAWS)),
                    each_once(c for c, op in zip(calls, ops, strict=True) if is_a(op.name, OpKind.KEEPS_STATISTICS)),
                )
