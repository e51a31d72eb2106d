"""Which lines gave replicas the weights that they begin to learn with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import WeightsMet
from autograd_inspector.model.rank_summary import Done

_COPIES = OpKind.COPIES | OpKind.CONVERTS | OpKind.DETACHES
Places = Callable[[int, str], tuple[Location, ...]]
"""(site, role) -> the program's lines."""
Names = Callable[[Iterable[int]], list[str]]


def drawn(
    capture: Capture, reductions: Reductions, first: Iterable[WeightsMet], places: Places, names: Names
) -> Iterator[Done]:
    """Lines at which all ranks were to get the weights of one and do not, then those that wrote to weights last.

    Replicas that were wrapped without that, copies that were sent in place of the weights, and what was sharded.
    """
    for met in first:
        yield from _wrapped_apart(reductions, met, places, names)
        memory = {reductions.exchanges.storage(tensor): tensor for tensor in met.tensors}
        memory.pop(-1, None)
        for site, tensors in _sent(capture, reductions, met, memory).items():
            yield Done("broadcast", places(site, "broadcast of a copy here"), 1, tuple(names(tensors)))
        for model in reductions.sharded_models:
            shards = set(model.tensors).intersection(met.tensors)
            if shards and model.site >= 0:
                yield Done(model.api, places(model.site, "sharded here"), 1, tuple(names(sorted(shards))))
        for site, tensors in _written(capture, met, memory).items():
            yield Done("", places(site, "weights written here"), 1, tuple(names(tensors)))


def _wrapped_apart(reductions: Reductions, met: WeightsMet, places: Places, names: Names) -> Iterator[Done]:
    for wrapper in reductions.wrappers.values():
        own = sorted(set(wrapper.tensors).intersection(met.tensors))
        if wrapper.apart and own:
            yield Done(wrapper.api, places(wrapper.site, "wrapped with init_sync=False here"), 1, tuple(names(own)))


def _sent(capture: Capture, reductions: Reductions, met: WeightsMet, memory: dict[int, int]) -> dict[int, list[int]]:
    """Line -> the weights of which it broadcast copies."""
    storage = reductions.exchanges.storage
    sent: dict[int, list[int]] = {}
    for event in reductions.exchanges.calls:
        if event.name == "broadcast" and event.at < met.at:
            origins = (_copied_from(capture, storage, tensor) for tensor in event.tensors)
            for tensor in (memory[origin] for origin in origins if origin in memory):
                sent.setdefault(event.site, []).append(tensor)
    return sent


def _written(capture: Capture, met: WeightsMet, memory: dict[int, int]) -> dict[int, list[int]]:
    """Line -> the weights that it wrote to last."""
    written: dict[int, int] = {}
    for op in capture.ops[: met.at]:
        if op.writes and not op.has(Trait.STEP):
            targets = (w.tensor if w.tensor in met.tensors else memory.get(w.storage, -1) for w in op.writes)
            written.update((tensor, op.site) for tensor in targets if tensor >= 0)
    lines: dict[int, list[int]] = {}
    for tensor, site in written.items():
        lines.setdefault(site, []).append(tensor)
    return lines


def _copied_from(capture: Capture, storage: Callable[[int], int], tensor: int) -> int:
    """The memory that a tensor was copied from, -1 where it is no copy."""
    own = storage(tensor)
    while tensor >= 0 and capture.tensors[tensor].birth >= 0:
        op = capture.ops[capture.tensors[tensor].birth]
        if not is_a(op.name, _COPIES) or not op.inputs or op.inputs[0] == tensor:
            break
        tensor = op.inputs[0]
    origin = storage(tensor)
    return origin if origin != own else -1
