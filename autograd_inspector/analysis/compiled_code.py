"""What is known of the compiled functions that ran: their graphs, what broke them, what made Dynamo compile again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile

from msgspec.structs import replace

from autograd_inspector.model.autograd import Node, SavedTensor
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import ModuleCall, Op
from autograd_inspector.model.program_events import CompiledCalled
from autograd_inspector.model.wording import counted

_SHOWN = 3


def compiled_functions(capture: Capture) -> tuple[CompiledCalled, ...]:
    """The last call of each, which knows of those before it; in the order of their first calls."""
    last: dict[str, CompiledCalled] = {}
    for event in capture.events_of(CompiledCalled):
        last[event.function] = event
    return tuple(last.values())


def counts_of(event: CompiledCalled) -> str:
    """Graphs, graph breaks with reasons and lines, recompilations with what triggered them."""
    parts = [counted(event.graphs, "graph")]
    if event.breaks:
        parts.append(f"{counted(len(event.breaks), 'graph break')} ({_few(event.breaks)})")
    if event.again:
        parts.append(f"{counted(len(event.again), 'recompilation')} ({_few(event.again)})")
    return ", ".join(parts)


def compiled_notes(capture: Capture) -> Iterator[str]:
    """A note for each compiled function that is not one graph, compiled once."""
    for event in compiled_functions(capture):
        if event.breaks or event.again:
            between = " inspect(compiled='eager') or --eager shows what ran between the graphs." if event.breaks else ""
            yield f"{event.api}: {counts_of(event)}.{between}"


def framed_calls(capture: Capture) -> tuple[list[ModuleCall], list[int], list[int]]:
    """Module calls with a frame "compiled" around what each compiled call ran: (calls, op's call, call's new number).

    The frame of a compiled call is a call of its own, before the calls inside it.
    """
    events = [event for event in capture.events_of(CompiledCalled) if event.until > event.at]
    inside: dict[int, CompiledCalled] = {}
    for event in events:
        inside.update(dict.fromkeys(range(event.at, min(event.until, len(capture.ops))), event))
    if not inside:
        return list(capture.calls), [op.call for op in capture.ops], list(range(len(capture.calls)))
    return _Framed(capture, inside).result()


class _Framed:
    def __init__(self, capture: Capture, inside: dict[int, CompiledCalled]) -> None:
        self._capture = capture
        self._inside = inside
        self._calls: list[ModuleCall] = []
        self._frames: dict[int, int] = {}
        """First op of a compiled call -> its frame."""
        self._counts: dict[str, int] = {}

    def result(self) -> tuple[list[ModuleCall], list[int], list[int]]:
        capture, numbers = self._capture, list[int]()
        tops = self._tops()
        for call in capture.calls:
            event = tops.get(call.id)
            parent = numbers[call.parent] if call.parent >= 0 else -1
            if event is not None:
                parent = self._frame(event, parent)
            numbers.append(len(self._calls))
            self._calls.append(replace(call, id=numbers[-1], parent=parent))
        of_ops = []
        for op in capture.ops:
            event = self._inside.get(op.index)
            around = numbers[op.call] if op.call >= 0 else -1
            of_ops.append(self._frame(event, around) if event is not None and op.call == event.within else around)
        return self._calls, of_ops, numbers

    def _tops(self) -> dict[int, CompiledCalled]:
        """The calls that lie directly in a compiled one."""
        tops: dict[int, CompiledCalled] = {}
        for op, event in self._inside.items():
            call = self._capture.ops[op].call
            while call >= 0 and call not in tops and call != event.within:
                parent = self._capture.calls[call].parent
                if parent == event.within:
                    tops[call] = event
                call = parent
        return tops

    def _frame(self, event: CompiledCalled, parent: int) -> int:
        frame = self._frames.get(event.at)
        if frame is None:
            frame = self._frames[event.at] = len(self._calls)
            nth = self._counts[event.function] = self._counts.get(event.function, 0) + 1
            self._calls.append(ModuleCall(frame, "", event.api, nth=nth, parent=parent, site=event.site, at=event.at))
        return frame


def _few(reasons: Iterable[str]) -> str:
    different = list(dict.fromkeys(reasons))
    more = f"; and {len(different) - _SHOWN} more" if len(different) > _SHOWN else ""
    return "; ".join(different[:_SHOWN]) + more


def saver_inside(capture: Capture, node: Node, saved: SavedTensor) -> Node:
    """The node of the op inside a compiled region for which the region's node saved a tensor; else the node itself."""
    op = capture.ops[node.op] if node.op >= 0 and saved.storage >= 0 else None
    recorded = recorded_inside(capture, op) if op is not None else []
    keeping = [each for each in recorded if _keeps(capture, each, saved)]
    maker = next((each for each in keeping if _needs(capture, each, saved)), next(iter(keeping), None))
    if maker is None:
        return node
    name = next((each.name for each in capture.nodes if each.op == maker.index), node.name)
    return replace(node, op=maker.index, name=name)


def recorded_inside(capture: Capture, op: Op) -> list[Op]:
    """The ops that autograd would have recorded in a graph of compiled code, which has one node: that of ``op``."""
    if op.inputs or op.outputs:
        return []
    event = next((e for e in capture.events_of(CompiledCalled) if e.at <= op.index < e.until), None)
    if event is None or op.name != event.api:
        return []
    inside = takewhile(lambda each: each.name != event.api, capture.ops[op.index + 1 : event.until])
    return [each for each in inside if each.last_seq > each.first_seq >= 0]


def _needs(capture: Capture, op: Op, saved: SavedTensor) -> bool:
    """Whether it has to keep that memory: a factor is kept for the gradient of another one."""
    others = [each for each in map(capture.tensors.__getitem__, op.inputs) if each.storage != saved.storage]
    return not others or any(each.requires_grad for each in others)


def _keeps(capture: Capture, op: Op, saved: SavedTensor) -> bool:
    """Whether an op read that memory as it was when it was saved, or made it."""
    versions = op.versions or (-1,) * len(op.inputs)
    read = any(
        capture.tensors[tensor].storage == saved.storage and saved.saved_version in {None, version}
        for tensor, version in zip(op.inputs, versions, strict=True)
    )
    return read or any(capture.tensors[tensor].storage == saved.storage for tensor in op.outputs)


def compiled_op_of(capture: Capture, nodes: Iterable[Node], read: Op | None) -> Op | None:
    """The compiled call that some nodes of a graph were made in; of several the one that shares most with an op."""
    calls = {event.at: event for event in capture.events_of(CompiledCalled)}
    wanted = set(read.inputs) if read is not None else set()
    best: tuple[int, Op] | None = None
    for index in dict.fromkeys(node.op for node in nodes if node.op >= 0):
        op = capture.ops[index]
        event = calls.get(index) or next((each for each in calls.values() if each.at <= index < each.until), None)
        if event is None or op.name != event.api:
            continue
        shared = sum(len(wanted & {*each.inputs, *each.outputs}) for each in capture.ops[index : event.until])
        if best is None or shared > best[0]:
            best = shared, op
    return best[1] if best is not None else None
