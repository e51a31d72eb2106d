"""Losses that measure how far a tensor is from itself: the program takes one tensor for two."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import ops_of
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import ModuleHookRegistered

_ASIDE = Trait.BACKWARD | Trait.INNER

_SAME = OpKind.DETACHES | OpKind.ALIASES
_FORWARD = "forward_hook"


class WithItself(Struct, frozen=True):
    """``op`` compares ``tensor`` with itself; ``hooks`` were given it, as what a module returned.

    ``copied`` made a weight of that module, after the hooks were registered: they came with the copy of the module.
    """

    op: Op
    tensor: int
    hooks: tuple[ModuleHookRegistered, ...]
    copied: Op | None = None


def with_itself(analysis: Analysis) -> Iterator[WithItself]:
    """Each line once, where every call there does so and a loss was computed with the result."""
    by_line: dict[object, list[Op]] = {}
    for op in ops_of(analysis.capture, OpKind.MEASURES):
        if len(op.inputs) == 2 and not op.has(_ASIDE):
            by_line.setdefault(line_of(analysis, op.site), []).append(op)
    if not any(_is_same(analysis, op) for calls in by_line.values() for op in calls):
        return
    runs = [run for run in analysis.capture.completed_runs if run.api == "backward"]
    above = {op.index for op, _ in analysis.flow.upstream([(root, run.start) for run in runs for root in run.roots])}
    for calls in by_line.values():
        counted = [op for op in calls if op.index in above]
        if counted and all(_is_same(analysis, op) for op in calls):
            tensor = _origin(analysis, counted[-1].inputs[0])
            hooks = tuple(_hooks(analysis, tensor))
            yield WithItself(counted[-1], tensor, hooks, _copied(analysis, tensor, hooks))


def _is_same(analysis: Analysis, op: Op) -> bool:
    one, other = op.inputs
    same = op.versions[:1] == op.versions[1:2] or one == other
    return same and _origin(analysis, one) == _origin(analysis, other)


def _origin(analysis: Analysis, tensor: int) -> int:
    """The tensor that a detached one, or an alias, was taken from."""
    made = analysis.flow.birth(tensor)
    while made is not None and is_a(made.name, _SAME) and made.inputs and made.inputs[0] != tensor:
        tensor = made.inputs[0]
        made = analysis.flow.birth(tensor)
    return tensor


def _copied(analysis: Analysis, tensor: int, hooks: tuple[ModuleHookRegistered, ...]) -> Op | None:
    """What copied a weight that the tensor was computed with, since the last of the hooks was registered."""
    made = analysis.flow.birth(tensor)
    above = analysis.flow.upstream([(tensor, made.index + 1)]) if hooks and made is not None else ()
    for weight in (each for op, _ in above for each in op.inputs):
        record = analysis.capture.tensors[weight]
        copied = analysis.flow.birth(weight) if record.kind == "parameter" else None
        if copied is not None and is_a(copied.name, OpKind.COPIES) and hooks[-1].at <= copied.index:
            return copied
    return None


def _hooks(analysis: Analysis, tensor: int) -> Iterator[ModuleHookRegistered]:
    capture, made = analysis.capture, analysis.flow.birth(tensor)
    around = {(call.type, call.path) for call in capture.calls_around(-1 if made is None else made.call)}
    for event in capture.events_of(ModuleHookRegistered):
        if event.method.endswith(_FORWARD) and any(
            event.type == kind and (not event.path or path.endswith(event.path)) for kind, path in around
        ):
            yield event
