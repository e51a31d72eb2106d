"""Of what happened again and again beside the ops, the first and the last time at each line."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from typing import TypeVar

from msgspec.structs import replace

from autograd_inspector.capture.recording.raw_records import OP_FIRST
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.program_events import (
    BareTensorHeld,
    DataMet,
    Event,
    GradientModified,
    GradientsLeftLocal,
    LayerComputed,
    ModelContained,
    ModeSwitched,
    ModuleHookRegistered,
    PlainTensorHeld,
    ReplicasWrapped,
    RequiresGradCompared,
    SamplerIterated,
    SteppedAccumulating,
    SyncSwitchedOff,
    WrapperCalled,
)

T = TypeVar("T")


def thin_program_events(recording: Recording, cut: int, living: Collection[int], models: Collection[int]) -> int:
    """What befell whole modules and optimizers before an op: a parameter may have been replaced in step 3.

    Those of ``living`` optimizers are told apart, and the parts of living ``models``. Returns how many events went.
    """
    before = len(recording.events)

    def alike(event: Event) -> Hashable:
        each = _each(event)
        if isinstance(event, ModeSwitched) and event.model in models:
            each = event.model, event.path
        return type(event), event.api, event.site, event.optimizer if event.optimizer in living else -1, each

    recording.events[:] = _thinned(recording.events, cut, lambda event: event.at, alike)
    recording.replacements[:] = _thinned(
        recording.replacements, cut, lambda e: e.at, lambda e: (e.model, e.api, e.site)
    )
    return before - len(recording.events)


def _each(event: Event) -> Hashable:
    """What a loop does one after the other at one line."""
    match event:
        case RequiresGradCompared() | BareTensorHeld() | PlainTensorHeld():
            return event.tensor
        case ModelContained():
            return event.model, event.into
        case ModuleHookRegistered():
            return event.path
        case SteppedAccumulating():
            return event.due
        case GradientModified():
            return event.shared
    return _among_ranks(event)


def _among_ranks(event: Event) -> Hashable:
    match event:
        case DataMet():
            return event.at  # Each batch is to be compared with the other ranks'.
        case LayerComputed():
            return event.path, event.given
        case WrapperCalled():
            return event.wrapper, event.synced
        case ReplicasWrapped() | GradientsLeftLocal() | SyncSwitchedOff():
            return event.wrapper
        case SamplerIterated():
            return event.sampler, event.epoch
    return None


def thin_events(recording: Recording, cut: int, first: int, tensors: Collection[int]) -> None:
    """Events of single tensors before an op; of a tensor that is gone nothing. ``first`` is the first step's op."""
    hooks = [hook for hook in recording.tensor_hooks if hook.at >= cut or hook.tensor in tensors]
    changes = [change for change in recording.requires_grad_changes if change.at >= cut or change.tensor in tensors]
    recording.tensor_hooks[:] = _thinned(hooks, cut, lambda h: h.at, lambda h: (h.tensor, h.site))
    recording.hooked = {hook.tensor for hook in recording.tensor_hooks}
    # The steps that tell set-up and training apart go: whether a change came before the first of them is noted here.
    changes = [replace(c, folded=True) if first < c.at < cut and not c.folded else c for c in changes]
    recording.requires_grad_changes[:] = _thinned(changes, cut, lambda c: c.at, lambda c: (c.tensor, c.site))
    recording.steps[:] = [step for step in recording.steps if step.op >= cut]
    recording.grad_reads[:] = [read for read in recording.grad_reads if read.at >= cut]
    recording.grad_writes[:] = [write for write in recording.grad_writes if write.at >= cut]
    recording.scalar_reentries[:] = [pair for pair in recording.scalar_reentries if pair[0] >= cut]
    if recording.none_gradients:
        first = min((op[OP_FIRST] for _, op in recording.ops.items(cut) if op[OP_FIRST] >= 0), default=-1)
        recording.none_gradients = {gap: None for gap in recording.none_gradients if gap.seq >= first}
    recording.named &= set(tensors)
    recording.variables = {tensor: name for tensor, name in recording.variables.items() if tensor in tensors}


def _thinned(events: list[T], cut: int, at: Callable[[T], int], key: Callable[[T], Hashable]) -> list[T]:
    first: dict[Hashable, int] = {}
    last: dict[Hashable, int] = {}
    for number, event in enumerate(events):
        if at(event) < cut:
            last[key(event)] = number
            first.setdefault(key(event), number)
    kept = {*first.values(), *last.values()}
    return [event for number, event in enumerate(events) if number in kept or at(event) >= cut]
