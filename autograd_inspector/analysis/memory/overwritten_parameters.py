"""Parameters that an optimizer steps and that the program overwrites with the values of others again and again."""

from __future__ import annotations

from msgspec import Struct

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import writing
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait

_ASIDE = Trait.STEP | Trait.BACKWARD

_COPYING = (
    OpKind.DETACHES | OpKind.COPIES | OpKind.COPIES_INTO | OpKind.CONVERTS
    | OpKind.INTERPOLATES | OpKind.MULTIPLIES | OpKind.ADDS | OpKind.SUBTRACTS
)  # fmt: skip
"""Ops of a copy or a moving average. What a layer computes from a parameter is no copy of it."""


class Overwritten(Struct, frozen=True):
    """``tensor`` takes over the values of ``source``; ``ops`` did so, the last one last."""

    tensor: int
    source: int
    ops: tuple[Op, ...]


def overwritten(capture: Capture, flow: DataFlow) -> tuple[Overwritten, ...]:
    """Stepped parameters that follow another stepped one, and that get gradient from the same backward as it.

    Models that are trained on losses of their own and then copied into each other (federated averaging, a population,
    meta-learning) are meant to be: so it has to be one loss that reaches both, and one of them has to follow.
    """
    runs = capture.completed_runs
    trained = {t for t in capture.optimized if any(t in run.reached for run in runs)}
    storages = {capture.tensors[t].storage: t for t in sorted(trained)}
    storages.pop(-1, None)
    copies: dict[tuple[int, int], list[Op]] = {}
    for op in writing(capture):
        if op.has(_ASIDE):
            continue
        for tensor in {storages[write.storage] for write in op.writes if write.storage in storages}:
            for source in _sources(capture, flow, op, tensor, storages):
                copies.setdefault((tensor, source), []).append(op)
    return tuple(
        Overwritten(tensor, source, tuple(ops))
        for (tensor, source), ops in copies.items()
        if (source, tensor) not in copies
        and any(ops[0].index < step.at <= ops[-1].index for step in capture.steps)
        and any(tensor in run.reached and tensor not in run.empty and source in run.reached for run in runs)
    )


def _sources(capture: Capture, flow: DataFlow, op: Op, tensor: int, storages: dict[int, int]) -> set[int]:
    """The parameters of the same shape whose values went into what the op wrote, by copying and averaging alone."""
    record = capture.tensors[tensor]
    sources: set[int] = set()

    def copied(above: Op, through: int) -> bool:
        return is_a(above.name, _COPYING) and capture.tensors[through].storage not in {record.storage, *storages}

    def look(reader: Op) -> None:
        for read in reader.inputs:
            other = capture.tensors[read]
            if other.shape == record.shape and other.storage != record.storage and other.storage in storages:
                sources.add(storages[other.storage])

    if is_a(op.name, _COPYING):
        look(op)
        starts = [(t, op.index) for t in op.inputs if capture.tensors[t].storage not in {record.storage, *storages}]
        for above, _ in flow.upstream(starts, copied):
            if is_a(above.name, _COPYING):
                look(above)
    return sources
