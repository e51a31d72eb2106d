"""Flat tensors that are made of one tensor for each parameter, and taken apart again in another order."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.tensor import TensorRecord

_HANDED_ON = OpKind.VIEWS | OpKind.COPIES | OpKind.CONVERTS
_FURTHEST = 8
"""Views and copies of one part."""
_ASIDE = Trait.STEP | Trait.BACKWARD
_Places = dict[int, tuple[int, int]]
"""Parameter -> the first element of its part, and the one behind it."""


class FlatOrder(Struct, frozen=True):
    """``joined`` put parts side by side, and ``site`` gives ``tensor`` the part that ``owner`` has in the result.

    It does so with ``wrong``, these two among them.
    """

    joined: Op
    site: int
    tensor: int
    owner: int
    wrong: tuple[int, ...]


class _Put(Struct, frozen=True):
    """A part of a flat tensor became the value, or the gradient, of a parameter."""

    flat: int
    start: int
    end: int
    tensor: int
    at: int
    site: int


def flat_orders(analysis: Analysis) -> Iterator[FlatOrder]:
    """The first time for each line that gives parts to parameters."""
    owners = _owners(analysis)
    told: set[int] = set()
    for flat, puts in grouped(_puts(analysis, owners), lambda put: put.flat).items():
        if len(puts) < 2 or puts[0].site in told:
            continue
        joined = _joined(analysis, flat, puts[0].at, owners)
        places = _places(analysis, joined, owners)
        wrong = [put for put in puts if put.tensor in places and places[put.tensor] != (put.start, put.end)]
        holders = [(put, who) for put in wrong for who, (start, _) in places.items() if start == put.start]
        if holders and {put.tensor for put in puts} >= places.keys():
            told.add(puts[0].site)
            put, owner = holders[0]
            yield FlatOrder(joined[-1], put.site, put.tensor, owner, tuple(put.tensor for put in wrong))


def _owners(analysis: Analysis) -> dict[int, int]:
    """The memory of a parameter that learns, or of a gradient that was seen as its -> the parameter, if it is one's."""
    tensors, owners = analysis.capture.tensors, dict[int, int]()
    shared: set[int] = set()
    for parameter in analysis.capture.optimized:
        for tensor in (parameter, *analysis.gradients.get(parameter, ())):
            storage = tensors[tensor].storage
            if owners.setdefault(storage, parameter) != parameter or storage < 0:
                shared.add(storage)
    return {storage: owner for storage, owner in owners.items() if storage not in shared}


def _puts(analysis: Analysis, owners: dict[int, int]) -> Iterator[_Put]:
    """In no order: assignments of a ``.grad``, and copies into one, or into the parameter."""
    capture = analysis.capture
    given = [(w.tensor, w.gradient, w.at, w.site) for w in capture.grad_writes if w.gradient >= 0]
    given += [
        (owners[capture.tensors[op.inputs[0]].storage], op.inputs[1], op.index, op.site)
        for op in capture.ops
        if is_a(op.name, OpKind.COPIES_INTO) and len(op.inputs) == 2 and not op.has(_ASIDE)
        if capture.tensors[op.inputs[0]].storage in owners
    ]
    for parameter, source, at, site in given:
        for part, whole in _handed_on(analysis, source):
            if whole is not None and _is_part(part, whole):
                start = (part.offset - whole.offset) * prod(whole.shape) // whole.nbytes
                yield _Put(whole.id, start, start + prod(part.shape), parameter, at, site)
                break


def _handed_on(analysis: Analysis, tensor: int) -> Iterator[tuple[TensorRecord, TensorRecord | None]]:
    """(a tensor, what it is a view or a copy of), further and further back."""
    capture = analysis.capture
    for _ in range(_FURTHEST):
        record = capture.tensors[tensor]
        made = capture.ops[record.birth] if record.birth >= 0 else None
        source = made.inputs[0] if made is not None and made.inputs and is_a(made.name, _HANDED_ON) else -1
        if source < 0 or source == tensor:
            yield record, None
            return
        yield record, capture.tensors[source]
        tensor = source


def _is_part(part: TensorRecord, whole: TensorRecord) -> bool:
    """Whether it is a stretch of a vector."""
    dense = part.nbytes == part.extent and whole.nbytes == whole.extent
    return (
        dense
        and len(part.shape) == len(whole.shape) == 1
        and part.storage == whole.storage
        and 0 < part.nbytes < whole.nbytes
    )


def _joined(analysis: Analysis, flat: int, before: int, owners: dict[int, int]) -> list[Op]:
    """The ops that put parts of parameters side by side in a vector as long as that one, which it was computed from."""
    tensors, found = analysis.capture.tensors, dict[int, Op]()

    def joins(op: Op) -> bool:
        return is_a(op.name, OpKind.CONCATENATES) and any(tensors[t].shape == tensors[flat].shape for t in op.outputs)

    for op, _ in analysis.flow.upstream([(flat, before)], lambda op, _: not joins(op)):
        if joins(op):
            found[op.index] = op
    return [found[at] for at in sorted(found) if any(_owner(analysis, part, owners) >= 0 for part in found[at].inputs)]


def _places(analysis: Analysis, joined: list[Op], owners: dict[int, int]) -> _Places:
    """Where each parameter's part lies; {}, where two of the ops do not agree."""
    places: _Places = {}
    for op in joined:
        start = 0
        for tensor in op.inputs:
            end = start + prod(analysis.capture.tensors[tensor].shape)
            owner = _owner(analysis, tensor, owners)
            if owner >= 0 and places.setdefault(owner, (start, end)) != (start, end):
                return {}
            start = end
    return places


def _owner(analysis: Analysis, tensor: int, owners: dict[int, int]) -> int:
    """The parameter that a part was taken from, all of it; -1: none, or not known."""
    size = prod(analysis.capture.tensors[tensor].shape)
    for record, _ in _handed_on(analysis, tensor):
        if record.storage in owners:
            owner = owners[record.storage]
            return owner if prod(analysis.capture.tensors[owner].shape) == size else -1
    return -1
