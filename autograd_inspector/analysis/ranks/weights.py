"""What ranks do with the weights themselves, which each has trained by itself: sums left as they are, steps overwritten."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ranks.reductions import Reached, Reductions
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import Communicated

_EVERY = 2
"""Steps that all have to be overwritten: one alone may begin a training."""


class WeightsExchanged(Struct, frozen=True):
    """``call`` was given weights that ``step`` had moved by gradients of this rank alone; ``tensors``: all such."""

    call: Communicated
    reached: Reached
    tensors: tuple[int, ...]


def weights_summed(capture: Capture, reductions: Reductions) -> Iterator[WeightsExchanged]:
    """Each line that sums weights, which nothing writes to before or behind it, until they are used again.

    Before: since the step. What is divided there, or is zero on all ranks but one, adds up to a mean or to one's value.
    """
    lines: dict[int, list[tuple[Communicated, Reached, int]]] = {}
    spoiled = set[int]()
    sums = [call for call in reductions.exchanges.calls if call.op == "sum" and is_a(call.name, OpKind.REDUCES_RANKS)]
    for call in sums if not reductions.meant and not reductions.exchanges.in_functions else ():
        for tensor in call.tensors:
            moved = _moved(reductions, tensor, call.at)
            if moved is None:
                continue
            used = _used(capture, reductions, tensor, call.at)
            end = used if used >= 0 else len(capture.ops)
            if _written(capture, reductions, tensor, moved.step.at + 1, end, call.at):
                spoiled.add(call.site)
            elif used >= 0:
                lines.setdefault(call.site, []).append((call, moved, tensor))
    yield from _by_line(lines, spoiled)


def steps_overwritten(capture: Capture, reductions: Reductions) -> Iterator[WeightsExchanged]:
    """Each line by which another rank's weights take the place of those that this rank's own gradients moved.

    Nothing where anything as large as a gradient went out: another rank may have stepped with it.
    """
    exchanges = reductions.exchanges
    sent = [call for call in exchanges.calls if is_a(call.name, OpKind.FROM_ONE_RANK) and call.name == "broadcast"]
    alone = not (reductions.meant or exchanges.in_functions or exchanges.point_to_point or capture.history.folded)
    lines: dict[int, list[tuple[Communicated, Reached, int]]] = {}
    spoiled = set[int]()
    for reached in reductions.reached if sent and alone else ():
        if any(reached.run.start <= call.at < reached.step.updates_from for call in exchanges.calls):
            return
        for tensor in reached.local:
            used = _used(capture, reductions, tensor, reached.step.at)
            end = used if used >= 0 else len(capture.ops)
            call = next((c for c in sent if reached.step.at <= c.at < end and tensor in c.tensors), None)
            if call is None or call.peer < 0 or call.peer == capture.rank:
                return
            lines.setdefault(call.site, []).append((call, reached, tensor))
    if len({reached.step.at for found in lines.values() for _, reached, _ in found}) >= _EVERY:
        yield from _by_line(lines, spoiled)


def _by_line(
    lines: dict[int, list[tuple[Communicated, Reached, int]]], spoiled: set[int]
) -> Iterator[WeightsExchanged]:
    for site, found in lines.items():
        if site not in spoiled:
            call, reached, _ = found[0]
            yield WeightsExchanged(call, reached, tuple(dict.fromkeys(tensor for _, _, tensor in found)))


def _moved(reductions: Reductions, tensor: int, end: int) -> Reached | None:
    """The last step before a moment that moved a tensor, or what it is a view of, by a gradient of this rank's own."""
    weight = reductions.exchanges.storage(tensor)
    for reached in reversed(reductions.reached):
        if reached.step.at < end and any(reductions.exchanges.storage(t) == weight for t in reached.local):
            return reached
    return None


def _used(capture: Capture, reductions: Reductions, tensor: int, start: int) -> int:
    """The next op behind a moment that a model's forward reads it with; -1 none."""
    memory = reductions.exchanges.storage(tensor)
    for op in capture.ops[start + 1 :]:
        if op.call >= 0 and any(reductions.exchanges.storage(t) == memory for t in op.inputs):
            return op.index
    return -1


def _written(capture: Capture, reductions: Reductions, tensor: int, start: int, end: int, call: int) -> bool:
    """Whether anything but a step or that call writes to its memory between two moments, or gives it another."""
    memory = reductions.exchanges.storage(tensor)
    for op in capture.ops[start:end]:
        other = op.index != call and not op.has(Trait.STEP)
        if other and any(write.storage == memory or write.tensor == tensor for write in op.writes):
            return True
    return False
