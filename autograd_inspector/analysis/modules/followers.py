"""Models that follow another one, a target network or an average of the weights, and of which a part stays behind.

The program writes what it computes of trained parameters into those of a copy, again and again. What it leaves out, and
what the copy is called with all the same, keeps the values of the day when the copy was made.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.training_modes import within
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import ModeSwitched
from autograd_inspector.model.tensor import TensorRecord

_ASIDE = Trait.STEP | Trait.BACKWARD
_DEEPEST = 4
"""So many ops compute an average: the factors, the product, the sum."""

Ends = tuple[int, str, int, str]
"""(root, path) of a module that learns, and of the one that follows it."""


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
    moved = _moved(analysis)
    written = {write.tensor for op in capture.ops for write in op.writes}
    memory = {capture.tensors[tensor].storage for tensor in written}
    pairs = _pairs(analysis, moved)
    for (root, path, copy_root, copy_path), ops in pairs.items():
        own = {name: r for r, name in _named(analysis, root, path)}
        behind: dict[str, list[tuple[TensorRecord, TensorRecord, str]]] = {}
        for record, name in _named(analysis, copy_root, copy_path):
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
    moved = _moved(analysis)
    called: dict[Ends, list[Op]] = {}
    pairs = _pairs(analysis, moved)
    for ends, ops in pairs.items():
        copies = [record for record, _ in _named(analysis, *ends[2:]) if record.kind == "parameter"]
        called[ends] = [op for record in copies if (op := _read(analysis, record, ops[0])) is not None]
    for ends, ops in pairs.items():
        sites = {op.site for op in ops}
        for other, reads in called.items() if not called[ends] else ():
            if reads and sites.intersection(op.site for op in pairs[other]):
                own = {record.id for record, _ in _named(analysis, *ends[:2])}
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


def _moved(analysis: Analysis) -> set[int]:
    """The parameters that a step wrote to."""
    steps = analysis.capture.steps
    return {p.tensor for step in steps for p in step.parameters if p.version_after > p.version_before}


def _pairs(analysis: Analysis, moved: set[int]) -> dict[Ends, list[Op]]:
    """Which module follows which, and the ops that write to it; what is copied once is a copy that follows nothing."""
    capture, owners = analysis.capture, analysis.capture.owners
    owned = {capture.tensors[tensor].storage: tensor for tensor in owners}
    trained = {capture.tensors[tensor].storage: tensor for tensor in moved}
    found: dict[Ends, dict[int, list[Op]]] = {}
    for op in capture.ops:
        for write in () if op.has(_ASIDE) or op.recorded else op.writes:
            target = capture.tensors[owned.get(write.storage, write.tensor)]
            if target.kind != "parameter" or target.id in capture.optimized or not target.names:
                continue
            for source in _sources(analysis, _operands(op, write.tensor), trained):
                ends = _ends(capture.tensors[source], target)
                if ends is not None and source in owners and target.id in owners and source != target.id:
                    key = owners[source], ends[0], owners[target.id], ends[1]
                    found.setdefault(key, {}).setdefault(target.id, []).append(op)
    pairs = {
        key: [op for ops in targets.values() for op in ops]
        for key, targets in found.items()
        if _again(analysis, targets)
    }
    return {key: sorted(ops, key=lambda op: op.index) for key, ops in pairs.items()}


def _operands(op: Op, written: int) -> tuple[int, ...]:
    """What an op computes with for what it writes there: one of many for lists takes one entry of each."""
    count = len(op.writes)
    if count == 1 or written not in op.inputs[:count] or len(op.inputs) % count:
        return op.inputs
    return op.inputs[op.inputs.index(written) :: count]


def _again(analysis: Analysis, targets: dict[int, list[Op]]) -> bool:
    """Whether one of them was written to, and again after a step."""
    steps = analysis.timeline.steps
    return any(len(ops) > 1 and steps.places(ops[0].index, ops[-1].index) for ops in targets.values())


def _sources(analysis: Analysis, operands: tuple[int, ...], trained: dict[int, int]) -> set[int]:
    """The trained parameters that a write, and the few ops before it, computed with; ``trained``: memory -> parameter."""
    tensors = analysis.capture.tensors
    sources, todo = set[int](), [(tensor, _DEEPEST) for tensor in operands]
    while todo:
        tensor, deepest = todo.pop()
        source = trained.get(tensors[tensor].storage)
        if source is not None and tensors[source].nbytes == tensors[tensor].nbytes:
            sources.add(source)
            continue
        made = analysis.flow.birth(tensor)
        if made is not None and deepest and not made.recorded and not made.has(_ASIDE):
            todo += [(read, deepest - 1) for read in made.inputs]
    return sources


def _ends(source: TensorRecord, target: TensorRecord) -> tuple[str, str] | None:
    """The paths of two modules in which two parameters have the same name."""
    for one in source.names:
        for other in target.names:
            first, second = one.split("."), other.split(".")
            common = 0
            while common < min(len(first), len(second)) and first[-1 - common] == second[-1 - common]:
                common += 1
            if common and source.shape == target.shape:
                return ".".join(first[: len(first) - common]), ".".join(second[: len(second) - common])
    return None


def _named(analysis: Analysis, root: int, path: str) -> Iterator[tuple[TensorRecord, str]]:
    """What a module has, each with its name there."""
    owners = analysis.capture.owners
    for record in analysis.capture.tensors:
        if record.of_model and (record.kind == "buffer" or owners.get(record.id) == root):
            for name in record.names:
                if within(name, path) and name != path:
                    yield record, name[len(path) + 1 if path else 0 :]


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


def _waits(
    analysis: Analysis, root: int, buffers: list[tuple[TensorRecord, TensorRecord, str]]
) -> ModeSwitched | None:
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
