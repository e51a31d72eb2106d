"""Ratios of a model's probabilities to its own of before, under two random masks of a dropout."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.train_mode_effects import each_once
from autograd_inspector.analysis.modules.training_modes import into_train_mode
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import having, ops_of
from autograd_inspector.model.op import ModuleCall, Op, Trait
from autograd_inspector.model.program_events import ModeSwitched


class MaskedRatio(Struct, frozen=True):
    """``op`` raises e to the difference between what two calls of one module returned, of which ``new`` has gradients.

    ``dropping``: the calls in the new one that drop values at random, as they did in the ``old`` one. ``switches`` put
    the module into train mode.
    """

    op: Op
    new: ModuleCall
    old: ModuleCall
    dropping: tuple[ModuleCall, ...]
    switches: tuple[ModeSwitched, ...]


def masked_ratios(analysis: Analysis) -> Iterator[MaskedRatio]:
    """One record for each line that computes such a ratio."""
    capture, told = analysis.capture, set[int]()
    if all(op.recorded for op in having(capture, Trait.DRAWS)):
        return
    for op in ops_of(capture, OpKind.EXPONENTIATES):
        if not op.recorded or op.site in told or len(op.inputs) != 1:
            continue
        told.add(op.site)
        found = _ratio(analysis, op)
        if found is not None:
            yield found


def _ratio(analysis: Analysis, op: Op) -> MaskedRatio | None:
    capture = analysis.capture
    made = [capture.ops[at] for at in analysis.flow.producers(op.inputs[0], op.index)]
    if len(made) != 1 or not is_a(made[0].name, OpKind.SUBTRACTS) or len(made[0].inputs) != 2:
        return None
    one, other = made[0].inputs
    if not capture.tensors[one].requires_grad or capture.tensors[other].requires_grad:
        return None
    new, old = (_drawing(analysis, tensor, made[0].index) for tensor in (one, other))
    for call, ops in new.items():
        for before, earlier in old.items():
            first, second = capture.calls[call], capture.calls[before]
            same = (first.root, first.path) == (second.root, second.path) and first.root >= 0
            if (
                same
                and before not in new
                and {_layer(analysis, each) for each in ops} <= {_layer(analysis, each) for each in earlier}
            ):
                dropping = each_once(capture.calls[each.call] for each in ops)
                return MaskedRatio(op, first, second, dropping, into_train_mode(analysis, second))
    return None


def _layer(analysis: Analysis, op: Op) -> tuple[int, str]:
    call = analysis.capture.calls[op.call]
    return call.root, call.path


def _drawing(analysis: Analysis, tensor: int, before: int) -> dict[int, list[Op]]:
    """Outermost call -> the dropouts in it that a tensor was computed with."""
    capture = analysis.capture
    found: dict[int, list[Op]] = {}
    for op, _ in analysis.flow.upstream([(tensor, before)], lambda op, _: not op.has(Trait.STEP)):
        if op.has(Trait.DRAWS) and op.call >= 0 and capture.calls[op.call].training:
            found.setdefault(capture.outermost_call(op.call).id, []).append(op)
    return found
