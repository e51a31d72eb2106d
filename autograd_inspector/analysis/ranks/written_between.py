"""What writes to weights between the call of a model and the step that moves them, other than that step."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import WeightsMet

_NOT_THE_PROGRAM = Trait.STEP | Trait.COLLECTIVE | Trait.BACKWARD


def written_between(capture: Capture, events: Iterable[WeightsMet]) -> dict[int, dict[int, list[int]]]:
    """Site of a step -> line -> the weights that it wrote to since the last look at them, before the step began."""
    found: dict[int, dict[int, list[int]]] = {}
    looked, begun = -1, -1
    for event in events:
        if event.what == "weights":
            looked = event.at
        elif event.what == "gradients":
            begun = event.at
        elif event.what == "stepped":
            # Without a look at them since the step before, they may have been written to for the same reason as then.
            if 0 <= looked <= begun:
                _add(capture, event, looked, begun, found.setdefault(event.site, {}))
            looked = -1
    return found


def _add(capture: Capture, event: WeightsMet, start: int, end: int, lines: dict[int, list[int]]) -> None:
    memory = {capture.tensors[tensor].storage: tensor for tensor in event.tensors}
    memory.pop(-1, None)
    for op in capture.ops[start:end]:
        written = [memory[w.storage] for w in op.writes if w.storage in memory] if op.writes else []
        if written and not op.has(_NOT_THE_PROGRAM):
            lines.setdefault(op.site, []).extend(written)
