"""AG202 inside a checkpoint: nobody compares the versions of what recomputation saves."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from autograd_inspector.advice.inplace_fixes import needs_because, repair
from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ops_of import having
from autograd_inspector.model.autograd import Backward, Node
from autograd_inspector.model.event import AliasWrite
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.graphs import KindsBelow
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.rules.ag202_unseen_edit.aliased_memory import aliased
from autograd_inspector.rules.ag202_unseen_edit.arrays import written_through_numpy
from autograd_inspector.rules.ag202_unseen_edit.recomputed_forwards import Key, key_of, keys_of
from autograd_inspector.rules.ag202_unseen_edit.writing_line import order_of

Arrays = Mapping[int, Sequence[AliasWrite]]
"""Storage -> the lines that write to it through NumPy in a recomputation."""

_PLACES = {"self": 0, "input": 0, "other": 1, "mat2": 1}


def packed_edits(analysis: Analysis, seen: set[int]) -> Iterator[Problem]:
    """Tensors that an op inside a checkpoint saved and that a later op inside it, or NumPy, modified.

    ``seen``: the sites that were told.

    Outside a checkpoint autograd would raise: the recomputed tensors are kept by a hook, which looks at no version.
    """
    capture = analysis.capture
    again: dict[Key, list[int]] = {}
    for op in having(capture, Trait.BACKWARD):
        again.setdefault(key_of(analysis, op), []).append(op.index)
    arrays = _arrays(analysis) if again else {}
    # Of all calls of a line, the nodes are alike: a run is looked at for each line, not for each node.
    below = KindsBelow(capture.nodes, lambda node: _saver(analysis, node))
    first = (
        {saver: node.index for node in reversed(capture.nodes) if (saver := _saver(analysis, node))} if again else {}
    )
    for run in analysis.run_graphs.runs if again else ():
        for saver in sorted(below.of(run.graph.roots), key=first.__getitem__):
            for at in _between(run.start, run.end, (again.get(key, []) for key in saver.keys)):
                for name in saver.packed:
                    yield from _modified(analysis, run, saver, capture.ops[at], name, arrays, seen)


def _modified(
    analysis: Analysis, run: Backward, saver: _Saver, op: Op, name: str, arrays: Arrays, seen: set[int]
) -> Iterator[Problem]:
    """What modified the tensor that a recomputed op saves under a name, where its site was not told yet."""
    for tensor, edit in _edited(analysis, op, name, run.end):
        if edit.site not in seen:
            seen.add(edit.site)
            yield _finding(analysis, saver.node, op, name, tensor, edit)
    for tensor, alias in _through_arrays(analysis, op, name, arrays, run):
        if alias.site not in seen:
            seen.add(alias.site)
            kept = f"saved for backward by `{op.name}` inside a checkpoint"
            yield written_through_numpy(analysis, run, alias, name_of(analysis, tensor), kept)


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


def _finding(analysis: Analysis, node: str, op: Op, name: str, tensor: int, edit: Op) -> Problem:
    subject = name_of(analysis, tensor)
    short = node.rsplit("::", 1)[-1]
    return Problem(
        "error",
        f"{subject} was saved for backward by `{op.name}` ({short}) inside a checkpoint and then modified by "
        f"`{edit.name}` inside it: recomputation compares no versions, so the gradients are silently wrong",
        repair(analysis, [edit], subject),
        analysis.places((edit, "modified here"), (op, "saved here")),
        (subject,),
        (
            f"`{op.name}` ({short}) saved {subject}: {needs_because(name)}.",
            f"`{edit.name}` modified it afterwards, when the checkpoint recomputed it; outside a checkpoint autograd "
            "would have raised.",
        ),
        (edit.index,),
    )
