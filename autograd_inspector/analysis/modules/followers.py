"""Models that follow another one, a target network or an average of the weights, and of which a part stays behind.

The program writes what it computes of trained parameters into those of a copy, again and again. What it leaves out, and
what the copy is called with all the same, keeps the values of the day when the copy was made.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.following import Ends, followed_models, moved_by_steps, named_in
from autograd_inspector.analysis.modules.training_modes import within
from autograd_inspector.analysis.ops_of import writing
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import ModeSwitched
from autograd_inspector.model.tensor import TensorRecord


class Unused(Struct, frozen=True):
    """A copy that follows a module and is never called, where another copy that the same line updates is.

    ``instead`` calls the module itself beside the call of the other copy, ``beside``; ``followed`` updates the copy.
    """

    copy: str
    module: str
    other: str
    followed: Op
    instead: Op
    beside: Op


class LeftBehind(Struct, frozen=True):
    """``tensors`` of a copy stay what they were, their ``counterparts`` move; ``followed`` writes to others of the copy.

    ``read`` computes with one of them; None: nothing called the copy, which waits in eval mode. ``switch``: what had
    put the copy into eval mode, where they are buffers.
    """

    tensors: tuple[int, ...]
    counterparts: tuple[int, ...]
    followed: Op
    read: Op | None
    switch: ModeSwitched | None


def left_behind(analysis: Analysis) -> Iterator[LeftBehind]:
    """One record for each copy, parameters and buffers apart. What is folded away may have written to the rest."""
    capture = analysis.capture
    if not capture.steps or capture.history.folded:
        return
    moved = moved_by_steps(analysis)
    written = {write.tensor for op in writing(capture) for write in op.writes}
    memory = {capture.tensors[tensor].storage for tensor in written}
    pairs = followed_models(analysis, moved)
    for (root, path, copy_root, copy_path), ops in pairs.items():
        own = {name: r for r, name in named_in(analysis, root, path)}
        behind: dict[str, list[tuple[TensorRecord, TensorRecord, str]]] = {}
        for record, name in named_in(analysis, copy_root, copy_path):
            other = own.get(name)
            if other is None or other.id == record.id or other.shape != record.shape or other.storage == record.storage:
                continue
            if record.kind == "buffer" and "float" not in record.dtype:
                continue
            moves = other.id in moved or (other.kind == "buffer" and other.id in written)
            if (
                moves
                and record.kind == other.kind
                and record.storage not in memory
                and record.id not in capture.optimized
            ):
                behind.setdefault(record.kind, []).append((record, other, f"{copy_path}.{name}" if copy_path else name))
        for kind, those in behind.items():
            read = next((op for record, *_ in those if (op := _read(analysis, record, ops[0])) is not None), None)
            switch = None
            if kind == "buffer":
                switch = _eval(analysis, copy_root, copy_path, read) if read is not None else None
                switch = switch or _waits(analysis, copy_root, those)
            if read is not None or switch is not None:
                tensors, counterparts = zip(*((record.id, other.id) for record, other, _ in those), strict=True)
                yield LeftBehind(tensors, counterparts, ops[-1], read, switch)


def unused(analysis: Analysis) -> Iterator[Unused]:
    """One record for each copy. One that waits for the evaluation has no such companion, or one that waits as well."""
    capture = analysis.capture
    if not capture.steps or capture.history.folded:
        return
    moved = moved_by_steps(analysis)
    called: dict[Ends, list[Op]] = {}
    pairs = followed_models(analysis, moved)
    for ends, ops in pairs.items():
        copies = [record for record, _ in named_in(analysis, *ends[2:]) if record.kind == "parameter"]
        called[ends] = [op for record in copies if (op := _read(analysis, record, ops[0])) is not None]
    for ends, ops in pairs.items():
        sites = {op.site for op in ops}
        for other, reads in called.items() if not called[ends] else ():
            if reads and sites.intersection(op.site for op in pairs[other]):
                own = {record.id for record, _ in named_in(analysis, *ends[:2])}
                depths = [(_beside(analysis, op, reads[0]), -op.index, op) for op in _reading(analysis, own)]
                depth, _, instead = max(depths, default=(0, 0, ops[-1]))
                if depth:
                    yield Unused(ends[3], ends[1], other[3], ops[-1], instead, reads[0])
                    break


def _reading(analysis: Analysis, tensors: set[int]) -> Iterator[Op]:
    """The ops that autograd records and that compute with one of these, in calls of modules."""
    ops = analysis.capture.ops
    places = sorted({at for tensor in tensors for at in analysis.capture.readers.get(tensor, ())})
    return (ops[at] for at in places if ops[at].recorded and ops[at].call >= 0)


def _beside(analysis: Analysis, op: Op, other: Op) -> int:
    """How deep the function lies of which two lines led to them; 0: they come from different functions."""
    one, two = ([f for f in reversed(analysis.capture.site(each.site)) if not f.library] for each in (op, other))
    pairs = zip(one, two, strict=False)
    depth, parting = next(
        ((depth, pair) for depth, pair in enumerate(pairs, 1) if pair[0].line != pair[1].line), (0, None)
    )
    return depth if parting is not None and parting[0].scope == parting[1].scope else 0


def _read(analysis: Analysis, record: TensorRecord, since: Op) -> Op | None:
    """The last op that computes with it in a call of a module, after the first write to the others."""
    capture = analysis.capture
    for at in reversed(capture.readers.get(record.id, ())):
        op = capture.ops[at]
        if at > since.index and op.call >= 0 and (record.kind == "parameter" or op.has(Trait.EVALUATES)):
            return op
    return None


def _eval(analysis: Analysis, root: int, path: str, read: Op) -> ModeSwitched | None:
    """The last switch of the copy to eval mode before that op."""
    switches = analysis.capture.events_of(ModeSwitched)
    own = [s for s in switches if s.model == root and s.at <= read.index and not s.training and within(path, s.path)]
    return own[-1] if own else None


def _waits(analysis: Analysis, root: int, buffers: list[tuple[TensorRecord, TensorRecord, str]]) -> ModeSwitched | None:
    """What had put the modules that have these into eval mode, where nothing calls them and nothing took it back."""
    readers, found = analysis.capture.readers, None
    for record, _, name in buffers:
        module = name.rpartition(".")[0]
        switches = analysis.capture.events_of(ModeSwitched)
        own = [switch for switch in switches if switch.model == root and within(module, switch.path)]
        if not own or own[-1].training or any(analysis.capture.ops[at].call >= 0 for at in readers.get(record.id, ())):
            return None
        found = own[-1]
    return found
