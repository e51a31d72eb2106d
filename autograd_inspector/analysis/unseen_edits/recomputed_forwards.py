"""Which call of a checkpointed function a recomputation repeats."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.compiled_code import recorded_inside
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.graphs import Below, RunGraphs
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op, Trait

_CHECKPOINT = "torch.utils.checkpoint"


def recomputations(analysis: Analysis, run: Backward) -> Iterator[list[Op]]:
    """The ops of each recomputation during a run, in their order."""
    regions, by_region = analysis.capture.regions, dict[int, list[Op]]()
    for op in analysis.capture.ops[run.start : run.end]:
        if op.has(Trait.BACKWARD) and regions[op.region].library == _CHECKPOINT:
            by_region.setdefault(op.region, []).append(op)
    yield from by_region.values()


class Key(NamedTuple):
    """What tells calls of an op from others: the place in the program, or the module whose own code calls it."""

    op: str
    file: str = ""
    line: int = -1
    column: int = -1
    root: int = -1
    module: str = ""


def key_of(analysis: Analysis, op: Op) -> Key:
    """What tells a recomputed op from others.

    Where torch's own code calls it (``checkpoint(nn.Sequential(...), x)``), the innermost line of the program is that
    of the backward, as of no forward: then its module tells it.
    """
    return _by_line(analysis, op) if _inside_a_function(analysis, op) else _by_module(analysis, op)


def keys_of(analysis: Analysis, op: Op, *, held: bool = False) -> tuple[Key, ...]:
    """The keys that a recomputation of the op may have; ``held``: a hook has its saved tensors, as checkpointing does.

    Of torch's functions that are checkpointed themselves the name is all that both have.
    """
    keys = (_by_line(analysis, op), _by_module(analysis, op), *((Key(op.name),) if held else ()))
    return tuple(dict.fromkeys(keys if op.call >= 0 or held else keys[:1]))


def _by_line(analysis: Analysis, op: Op) -> Key:
    inner = _innermost(analysis, op.site)
    return Key(op.name, inner.filename, inner.lineno, inner.column) if inner is not None else Key(op.name)


def _by_module(analysis: Analysis, op: Op) -> Key:
    call = analysis.capture.call_of(op)
    return Key(op.name, root=call.root, module=call.name) if call is not None else Key(op.name)


def _inside_a_function(analysis: Analysis, op: Op) -> bool:
    """Whether a line of the program that is not the one that runs the backward called the op."""
    inner = _innermost(analysis, op.site)
    if inner is None or not op.has(Trait.BACKWARD):
        return inner is not None
    for run in analysis.timeline.runs.before(op.index + 1):
        if op.index < run.end:
            return _innermost(analysis, run.site) != inner
        if run.nested_in < 0:
            break
    return True


def _innermost(analysis: Analysis, site: int) -> Location | None:
    frames = analysis.capture.site(site)
    return frames[0] if frames else None


class Forwards:
    """The ops outside of recomputation, by what they are called, where, and with which tensor, in program order.

    Of those that a recomputed op may repeat, the ones are meant that are in the graph of the backward that runs it and
    whose saved tensors it has to ask a hook for: the same function may run in other graphs. Where none of them is,
    those that ran before the last that is; else all.
    """

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._ops: dict[tuple[Key, int], list[int]] = {}
        self._packed: dict[tuple[Key, int], list[int]] = {}
        """Those of them whose saved tensors a hook holds."""
        self._holding: dict[int, list[int]] = {}
        """Op -> its nodes of which a hook holds saved tensors."""
        capture, latest = analysis.capture, dict[int, int]()
        for node in capture.nodes:
            if node.op >= 0 and any(saved.status == "packed" for saved in node.saved):
                members = [node.op, *(op.index for op in recorded_inside(capture, capture.ops[node.op]))]
                latest[node.index] = members[-1]
                for member in members:
                    self._holding.setdefault(member, []).append(node.index)
        held = {node for nodes in self._holding.values() for node in nodes}
        self._latest = Below(capture.nodes, lambda node: latest.get(node.index, -1), max)
        self._runs = RunGraphs(
            analysis.capture.nodes, (run for run in analysis.capture.backwards if run.end > run.start)
        )
        self._place: dict[int, int] = {}
        """Op -> the place of the run during which it ran, where that has such a node."""
        for place, run in enumerate(self._runs.runs if held else ()):
            if self._last_held(place) >= 0:
                self._place |= dict.fromkeys(range(run.start, run.end), place)

    def add(self, op: Op) -> None:
        """The program called it."""
        held = op.index in self._holding
        for key in keys_of(self._analysis, op, held=held):
            for tensor in dict.fromkeys(op.inputs):
                self._ops.setdefault((key, tensor), []).append(op.index)
                if held:
                    self._packed.setdefault((key, tensor), []).append(op.index)

    def last(self, key: tuple[Key, int], op: Op) -> Op | None:
        """The one that a recomputed op repeats."""
        return next(self._meant(key, op), None)

    def earlier(self, key: tuple[Key, int], op: Op) -> Iterator[Op]:
        """The others that it may repeat, the latest first."""
        meant = self._meant(key, op)
        next(meant, None)
        return meant

    def _meant(self, key: tuple[Key, int], op: Op) -> Iterator[Op]:
        ops, every = self._analysis.capture.ops, self._ops.get(key, [])
        place = self._place.get(op.index, -1)
        held = reversed(self._packed.get(key, [])) if place >= 0 else iter(())
        held_by_run = (index for index in held if any(self._runs.has(place, node) for node in self._holding[index]))
        first = next(held_by_run, None)
        if first is not None:
            yield from (ops[index] for index in chain((first,), held_by_run))
            return
        count = bisect_right(every, self._last_held(place) if place >= 0 else -1) or len(every)
        yield from (ops[every[at]] for at in range(count - 1, -1, -1))

    def _last_held(self, place: int) -> int:
        """The last op of a run's graph whose saved tensors a hook holds; -1: there is none."""
        return max((self._latest.at(root) for root in self._runs.runs[place].graph.roots), default=-1)
