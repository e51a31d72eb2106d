"""Exchanges of weights that the model has no longer, while others of its weights, which each rank moves, are left out."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.event import Step
from autograd_inspector.model.program_events import Communicated


class StaleList(Struct, frozen=True):
    """``call`` is given ``gone``, which nothing computes with; ``step`` moves ``left``, of the model of the others."""

    call: Communicated
    gone: tuple[int, ...]
    left: tuple[int, ...]
    step: Step


def stale_lists(capture: Capture, reductions: Reductions) -> Iterator[StaleList]:
    """One for each line that exchanges such weights together with weights that a model has."""
    if reductions.meant:
        return
    exchanges = reductions.exchanges
    lines: dict[int, list[tuple[Communicated, int]]] = {}
    for call in exchanges.calls:
        carried = {exchanges.origin(tensor) for tensor in call.tensors}
        lines.setdefault(call.site, []).extend(
            (call, t) for t in sorted(carried) if t >= 0 and capture.tensors[t].kind == "parameter"
        )
    for found in lines.values():
        gone = [(call, tensor) for call, tensor in found if _gone(capture, tensor)]
        models = {capture.owners[tensor] for _, tensor in found if tensor in capture.owners}
        for reached in reductions.reached if gone and models else ():
            left = tuple(t for t in reached.local if capture.owners.get(t) in models and not reductions.averaged(t))
            if left:
                yield StaleList(gone[0][0], tuple(dict.fromkeys(tensor for _, tensor in gone)), left, reached.step)
                break


def _gone(capture: Capture, tensor: int) -> bool:
    """Whether no model has a parameter, no step moves it, and no layer computes with it."""
    known = capture.tensors[tensor].names or tensor in capture.owners
    if known or any(tensor in step.held for step in capture.steps):
        return False
    return not any(capture.ops[at].call >= 0 or capture.ops[at].recorded for at in capture.readers.get(tensor, ()))
