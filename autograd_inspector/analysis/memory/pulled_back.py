"""Parameters that learn, and that a moving average pulls back to a copy which never follows them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.self_copies import is_average
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op, Trait

_AVERAGING = OpKind.DETACHES | OpKind.MULTIPLIES | OpKind.ADDS | OpKind.SUBTRACTS | OpKind.INTERPOLATES


class Pull(Struct, frozen=True):
    """``op`` put an average of ``tensor`` and of ``copy`` in the place of ``tensor``."""

    op: Op
    tensor: int
    copy: int


def pulls_back(analysis: Analysis) -> Iterator[list[Pull]]:
    """The pulls of each line that pulls in several rounds."""
    constants = _constants(analysis)
    by_site: dict[int, list[Pull]] = {}
    for op in analysis.capture.ops if constants else ():
        if op.writes and not op.has(Trait.STEP | Trait.BACKWARD):
            for pull in _pulls(analysis, op, constants):
                by_site.setdefault(op.site, []).append(pull)
    for pulls in by_site.values():
        first, last = pulls[0].op.index, pulls[-1].op.index
        if any(first < step.at <= last for step in analysis.capture.steps if pulls[-1].tensor in step.held):
            yield pulls


def _constants(analysis: Analysis) -> dict[int, int]:
    """Storage -> the parameter of a model that no optimizer holds, that nothing has written, and that losses depend on."""
    capture, tensors = analysis.capture, analysis.capture.tensors
    learning = {tensors[t].shape for t in capture.optimized}
    candidates = {
        record.storage: record.id
        for record in tensors
        if record.kind == "parameter" and record.of_model and record.id not in capture.optimized
        if record.shape in learning and record.storage >= 0
    }
    if not candidates:
        return {}
    starts = [(root, run.start) for run in capture.completed_runs for root in run.roots]
    used = {tensors[t].storage for op, _ in analysis.flow.upstream(starts) if op.call >= 0 for t in op.inputs}
    first_step = min((step.at for step in capture.steps), default=0)
    return {
        storage: tensor
        for storage, tensor in candidates.items()
        if storage in used and not any(analysis.writes_to(storage, tensor, first_step, len(capture.ops)))
    }


def _pulls(analysis: Analysis, op: Op, constants: dict[int, int]) -> Iterator[Pull]:
    tensors = analysis.capture.tensors
    for write in op.writes:
        tensor = next((t for t in analysis.capture.optimized if tensors[t].storage == write.storage), -1)
        if tensor < 0:
            continue
        read = {tensors[t].storage for t in _averaged(analysis, op, constants)}
        itself = write.storage in read if is_a(op.name, OpKind.COPIES_INTO) else is_average(analysis, op)
        for storage in sorted(read & constants.keys()) if itself else ():
            if tensors[constants[storage]].shape == tensors[tensor].shape:
                yield Pull(op, tensor, constants[storage])


def _averaged(analysis: Analysis, op: Op, constants: dict[int, int]) -> Iterator[int]:
    """What an op reads, and what sums and multiples that it reads were made of."""
    storage = op.writes[0].storage
    tensors = analysis.capture.tensors

    def goes_on(above: Op, through: int) -> bool:
        return is_a(above.name, _AVERAGING) and tensors[through].storage not in {storage, *constants}

    yield from op.inputs[1:]
    starts = [(t, op.index) for t in op.inputs[1:] if tensors[t].storage not in {storage, *constants}]
    for above, through in analysis.flow.upstream(starts, goes_on):
        if goes_on(above, through):
            yield from above.inputs
