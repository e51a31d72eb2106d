"""Custom backwards whose result is differentiated again: the second derivative misses what was cut off, or was saved.

What forward computes has no history: saved for backward, it is a constant there, unless it is what forward returns.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import having
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.op import Op, Trait

_FLAT = OpKind.COMPARES | OpKind.ORDERS | OpKind.PIECEWISE_CONSTANT
"""The derivative of these is zero anyway."""


class CutWithin(Struct, frozen=True):
    """``cut`` takes away the history of a tensor in the backward of ``function``, in a run with ``create_graph=True``.

    ``run`` is that one, ``again`` a later one through what it computed.
    """

    cut: Op
    function: str
    run: Backward
    again: Backward


class SavedIntermediate(Struct, frozen=True):
    """``read`` computes, in the backward of ``function``, with what ``made`` computed in its forward of an input."""

    made: Op
    read: Op
    function: str
    run: Backward
    again: Backward


def cuts_within(analysis: Analysis) -> Iterator[CutWithin]:
    """Each line once, where the values that were cut go into a gradient that is differentiated."""
    told: set[int] = set()
    for op, function, run in _within(analysis):
        if op.has(Trait.CUT) and op.site not in told and is_a(op.name, OpKind.DETACHES):
            again = _differentiated(analysis, run) if _used(analysis, op, run) else None
            if again is not None:
                told.add(op.site)
                yield CutWithin(op, function, run, again)


def saved_intermediates(analysis: Analysis) -> Iterator[SavedIntermediate]:
    """Each Function once, where such values go into a gradient that is differentiated."""
    capture, told = analysis.capture, set[str]()
    returned = {tensor for op in having(capture, Trait.FUNCTION) for tensor in op.outputs}
    for op, function, run in _within(analysis):
        if function in told or is_a(op.name, _FLAT):
            continue
        made = next((m for t in op.inputs if t not in returned and (m := _of_an_input(analysis, t)) is not None), None)
        used = made is not None and _used(analysis, op, run, returned=True)
        again = _differentiated(analysis, run) if used else None
        if made is not None and again is not None:
            told.add(function)
            yield SavedIntermediate(made, op, function, run, again)


def _within(analysis: Analysis) -> Iterator[tuple[Op, str, Backward]]:
    """The ops of the program's custom backwards, each with its Function, in runs with ``create_graph=True``."""
    capture = analysis.capture
    sites = {p.scope: name for name, at in capture.function_sites.items() if (p := capture.place(at))}
    for run in capture.backwards:
        if not run.create_graph or run.error or run.nested_in >= 0 or not sites:
            continue
        for op in capture.ops[run.start : run.end]:
            place = capture.place(op.site) if op.has(Trait.BACKWARD) else None
            function = sites.get(place.scope) if place is not None else None
            if function is not None:
                yield op, function, run


def _of_an_input(analysis: Analysis, tensor: int) -> Op | None:
    """The op of a Function's forward that made a tensor, if one of what requires grad, by a derivative that is not zero."""
    capture = analysis.capture
    record = capture.tensors[tensor]
    made = analysis.flow.birth(tensor)
    if made is None or not made.has(Trait.INNER) or made.has(Trait.FUNCTION) or "float" not in record.dtype:
        return None
    todo, seen = [made], {made.index}
    while todo:
        op = todo.pop()
        for read in op.inputs if not is_a(op.name, _FLAT | OpKind.TAKES_SHAPE_ONLY) else ():
            if capture.tensors[read].requires_grad:
                return made
            before = analysis.flow.birth(read)
            if before is not None and before.has(Trait.INNER) and before.index not in seen:
                seen.add(before.index)
                todo.append(before)
    return None


def _used(analysis: Analysis, cut: Op, run: Backward, *, returned: bool = False) -> bool:
    """Whether something was computed of its values, other than of their signs, that the backward may return.

    ``returned``: what it computes may itself be what is returned.
    """
    capture = analysis.capture
    todo, seen = [*cut.outputs], set(cut.outputs)
    while todo:
        tensor = todo.pop()
        readers = [capture.ops[index] for index in capture.readers.get(tensor, ()) if index < run.end]
        if not readers and (returned or tensor not in cut.outputs):
            return True
        for reader in readers:
            flat = is_a(reader.name, _FLAT)
            todo += [each for each in reader.outputs if each not in seen and not flat and not reader.has(Trait.EXPORT)]
            seen.update(reader.outputs)
    return False


def _differentiated(analysis: Analysis, run: Backward) -> Backward | None:
    """The next run of the program's whose graph has nodes that this one made."""
    for later in analysis.timeline.backwards.since(run.end):
        if any(run.start <= node.op <= run.end for node in analysis.nodes_of(later)):
            return later
    return None
