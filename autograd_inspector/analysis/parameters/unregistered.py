"""Parameters that no module has registered, and bare tensors that a module computes with as if they were some."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection

from autograd_inspector.analysis.dataflow import SKIPPED
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import BareTensorHeld, ModelSharded

_MEASURES = 16
"""So many tensors are made of a gradient at most, to take a number of it."""


def unregistered_of(capture: Capture, reached: frozenset[int]) -> frozenset[int]:
    """Leaves that are read inside a module call, get a gradient, and have no name in any module that ran there.

    A module of its own, called from another's forward, counts when the caller does not contain it. A bare tensor
    counts when it serves more than one step and is no input: the call is not given it (``net(t)``), and nobody computes
    with its gradient but to print it. So does a buffer, whose name is not that of a parameter, and one that is an
    attribute of a module, wherever it is read.
    """
    held = capture.optimized
    flat = {tensor for event in capture.events_of(ModelSharded) if event.flat for tensor in event.tensors}
    reached -= flat
    if not capture.placement.optimizers:
        return frozenset()
    foreign = {call.root for call in capture.calls if call.parent >= 0 and capture.calls[call.parent].root != call.root}
    inside: dict[int, set[int]] = {}
    ends = sorted(run.end for run in capture.completed_runs)
    for op in capture.ops:
        if op.call >= 0 and not op.has(SKIPPED):
            window = bisect_right(ends, op.index)
            for tensor in op.inputs:
                if tensor in reached and tensor not in held:
                    inside.setdefault(tensor, set()).add(window)
    back = {each.export for each in capture.scalar_reentries}
    read = {r.tensor for r in capture.grad_reads if not _only_measured(capture, r.gradient, back)}
    read.update(tensor for run in capture.backwards if run.api == "grad" for tensor in run.reached)
    unregistered = set()
    gathered = _gathered(capture)
    inside = {t: windows for t, windows in inside.items() if capture.tensors[t].storage not in gathered}
    for tensor, windows in inside.items():
        record = capture.tensors[tensor]
        if capture.owners.get(tensor, -1) in foreign or (
            (not record.names or record.kind == "buffer")
            and (record.kind == "parameter" or (len(windows) > 1 and tensor not in read and not record.given))
        ):
            unregistered.add(tensor)
    for tensor in reached - held - read - set(inside):  # Computed with in __init__, say: `nn.Parameter(t).to(...)`.
        record = capture.tensors[tensor]
        if record.kind == "parameter" and not record.names and _read_in_calls(capture, tensor):
            unregistered.add(tensor)
    return frozenset(unregistered | attributes_of(capture, reached - held - read))


def attributes_of(capture: Capture, reached: frozenset[int] | set[int]) -> set[int]:
    """Those that a module has as plain attributes, under no name of a parameter, and that several backwards reach.

    It is read by methods of the module as well, which the program calls itself.
    """
    attributes = {event.tensor for event in capture.events_of(BareTensorHeld)} & reached
    runs = [frozenset(run.reached) for run in capture.completed_runs]
    return {
        tensor
        for tensor in attributes
        if not capture.tensors[tensor].names and not capture.tensors[tensor].given and _several(runs, tensor)
    }


def _gathered(capture: Capture) -> set[int]:
    """The memory that shards of several ranks were gathered into, and what it was dealt out to.

    A module has the shards that a parameter there is made of.
    """
    gathered: set[int] = set()
    for op in capture.ops if any(row.sharding is not None for row in capture.placement.rows) else ():
        if op.writes and (
            op.name.startswith("all_gather") or any(capture.tensors[t].storage in gathered for t in op.inputs)
        ):
            gathered.update(write.storage for write in op.writes)
    return gathered - {-1}


def _only_measured(capture: Capture, gradient: int, back: Collection[int]) -> bool:
    """Whether numbers are taken of a gradient, as a log does, and no tensor made of it serves anything else.

    ``back``: the ops whose numbers came back into torch.
    """
    todo, measured = [gradient], False
    for tensor in todo if gradient >= 0 else ():
        for at in capture.readers.get(tensor, ()):
            op = capture.ops[at]
            if op.has(SKIPPED):
                continue
            if op.writes or at in back or len(todo) > _MEASURES:
                return False
            measured = measured or op.has(Trait.EXPORT)
            todo += [made for made in op.outputs if made not in todo]
    return measured


def _several(runs: list[frozenset[int]], tensor: int) -> bool:
    return sum(tensor in reached for reached in runs) > 1


def _read_in_calls(capture: Capture, tensor: int) -> bool:
    """Whether something computed straight from the leaf outside of all modules is read inside a module call."""
    results = {t for op in capture.ops if op.call < 0 and tensor in op.inputs for t in op.outputs}
    return any(op.call >= 0 and not results.isdisjoint(op.inputs) for op in capture.ops)
