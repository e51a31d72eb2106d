"""Hooks on a parameter that the program replaced afterwards: the new one has no hook, and the old one gets no gradient."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.event import TensorHook
from autograd_inspector.model.program_events import HooksLost, ParameterRegistered


class LeftBehind(Struct, frozen=True):
    """``hook`` is on a parameter that ``replaced`` put another one in the place of, computed from it."""

    hook: TensorHook
    replaced: ParameterRegistered


def hooks_left_behind(analysis: Analysis) -> Iterator[LeftBehind]:
    """Each replacement once."""
    hooked = {hook.tensor for hook in analysis.capture.tensor_hooks}
    told: set[int] = set()
    for hook in analysis.capture.tensor_hooks:
        if hook.older or hook.tensor in analysis.received_gradient or hook.tensor in analysis.capture.owners:
            continue
        for first in analysis.lifecycle.registrations(hook.tensor)[:1]:
            for event in analysis.capture.events_of(ParameterRegistered):
                place = (event.type, event.name) == (first.type, first.name)
                if (
                    place
                    and event.at >= hook.at
                    and event.tensor not in hooked
                    and _follows(analysis, event, hook.tensor)
                ):
                    if event.tensor not in told:
                        told.add(event.tensor)
                        yield LeftBehind(hook, event)
                    break


def _follows(analysis: Analysis, event: ParameterRegistered, old: int) -> bool:
    """Whether the new parameter learns, and has values that were computed from the old one."""
    if event.tensor == old or event.tensor not in analysis.received_gradient:
        return False
    above = analysis.flow.upstream([(event.tensor, event.at + 1)], lambda op, _: True)
    return any(old in op.inputs for op, _ in above)


class LostInLoad(Struct, frozen=True):
    """``loaded`` put ``tensors``, which are trained without a hook, in the place of parameters that had ``hook``."""

    hook: TensorHook
    loaded: HooksLost
    tensors: tuple[int, ...]


def hooks_lost_in_loads(analysis: Analysis) -> Iterator[LostInLoad]:
    """One record for each load and place that registers hooks. Who registers them again afterwards has lost nothing."""
    hooks = analysis.capture.tensor_hooks
    for event in analysis.capture.events_of(HooksLost):
        lost: dict[int, tuple[TensorHook, list[int]]] = {}
        again = {hook.tensor for hook in hooks if hook.at >= event.at}
        for old, new in event.pairs:
            had = [hook for hook in hooks if hook.tensor == old and hook.at <= event.at]
            if had and new in analysis.received_gradient and new not in again:
                lost.setdefault(had[-1].site, (had[-1], []))[1].append(new)
        for hook, tensors in lost.values():
            yield LostInLoad(hook, event, tuple(tensors))
