"""What is modified in a recomputation after it was saved there: a hook keeps it, which looks at no version."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.unseen_edits.array_memory import aliased
from autograd_inspector.analysis.unseen_edits.array_writes import order_of
from autograd_inspector.analysis.unseen_edits.recomputed_forwards import Key, key_of, keys_of
from autograd_inspector.model.autograd import Backward, Node
from autograd_inspector.model.event import AliasWrite
from autograd_inspector.model.graphs import KindsBelow
from autograd_inspector.model.op import Op, Trait

Arrays = Mapping[int, Sequence[AliasWrite]]
"""Storage -> the lines that write to it through NumPy in a recomputation."""


_PLACES = {"self": 0, "input": 0, "other": 1, "mat2": 1}


class PackedEdit(NamedTuple):
    """What ``op`` saved in a recomputation under ``name``, by a ``node``, and ``by`` modified before ``run`` used it."""

    run: Backward
    node: str
    op: Op
    name: str
    tensor: int
    by: Op | AliasWrite


def edited_in_recomputation(analysis: Analysis) -> Iterator[PackedEdit]:
    """Tensors that an op inside a checkpoint saved and that a later op inside it, or NumPy, modified."""
    capture = analysis.capture
    again: dict[Key, list[int]] = {}
    for op in capture.ops:
        if op.has(Trait.BACKWARD):
            again.setdefault(key_of(analysis, op), []).append(op.index)
    if not again:
        return
    arrays = _arrays(analysis)
    # Of all calls of a line, the nodes are alike: a run is looked at for each line, not for each node.
    below = KindsBelow(capture.nodes, lambda node: _saver(analysis, node))
    first = {saver: node.index for node in reversed(capture.nodes) if (saver := _saver(analysis, node))}
    for run in analysis.run_graphs.runs:
        for saver in sorted(below.of(run.graph.roots), key=first.__getitem__):
            for at in _between(run.start, run.end, (again.get(key, []) for key in saver.keys)):
                op = capture.ops[at]
                for name in saver.packed:
                    edits: list[tuple[int, Op | AliasWrite]] = [
                        *_edited(analysis, op, name, run.end),
                        *_through_arrays(analysis, op, name, arrays, run),
                    ]
                    yield from (PackedEdit(run, saver.node, op, name, tensor, by) for tensor, by in edits)


class _Saver(NamedTuple):
    """Nodes of one name that calls of one line made, and the names of what hooks hold for them."""

    keys: tuple[Key, ...]
    node: str
    packed: tuple[str, ...]


def _saver(analysis: Analysis, node: Node) -> _Saver | None:
    packed = tuple([saved.name for saved in node.saved if saved.status == "packed"])
    if not packed or node.op < 0:
        return None
    return _Saver(keys_of(analysis, analysis.capture.ops[node.op], held=True), node.name, packed)


def _between(start: int, end: int, several: Iterable[list[int]]) -> list[int]:
    """The ops of one run, of several lists in program order."""
    return sorted({at for ops in several for at in ops[bisect_left(ops, start) : bisect_left(ops, end)]})


def _edited(analysis: Analysis, op: Op, name: str, end: int) -> Iterator[tuple[int, Op]]:
    """(the tensor that a recomputed op saves under that name, each op of the recomputation that modified it).

    An in-place op saves a copy of what it modifies (``self``), but its other operands as they are: ``x *= x`` itself
    modifies what it saved.
    """
    tensors = analysis.capture.tensors
    written = {write.tensor for write in op.writes}
    for tensor in _saved_as(op, name):
        written_by_op = tensor in written and name != "result"
        if written_by_op and _PLACES.get(name) == 0:
            continue
        for edit, write in analysis.writes_to(tensors[tensor].storage, tensor, op.index + (not written_by_op), end):
            if edit.has(Trait.BACKWARD) and tensors[write.tensor].overlaps(tensors[tensor]):
                yield tensor, edit


def _saved_as(op: Op, name: str) -> Sequence[int]:
    """The tensor that an op saves under a name, where that tells which one it is."""
    place = _PLACES.get(name, len(op.inputs))
    return op.outputs[:1] if name == "result" else op.inputs[place : place + 1]


def _arrays(analysis: Analysis) -> Arrays:
    tensors, ops = analysis.capture.tensors, analysis.capture.ops
    by_storage: dict[int, list[AliasWrite]] = {}
    for alias in analysis.capture.alias_writes:
        if ops[alias.op].has(Trait.BACKWARD):
            by_storage.setdefault(tensors[aliased(analysis, alias)].storage, []).append(alias)
    return by_storage


def _through_arrays(
    analysis: Analysis, op: Op, name: str, arrays: Arrays, run: Backward
) -> Iterator[tuple[int, AliasWrite]]:
    """(the tensor that a recomputed op saves under that name, each line of the recomputation that writes to it)."""
    for tensor in _saved_as(op, name):
        for alias in arrays.get(analysis.capture.tensors[tensor].storage, ()):
            line = analysis.capture.place(alias.site)
            later = op.index < alias.op or order_of(analysis, op.site, line) < 0
            if later and run.start <= alias.op < run.end:
                yield tensor, alias
