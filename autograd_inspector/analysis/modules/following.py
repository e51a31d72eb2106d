"""Which model follows which: a target network or an average that the program computes of trained parameters.

It writes them into those of a copy, again and again; where they are, in whichever alias, is told by their memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.training_modes import within
from autograd_inspector.analysis.ops_of import writing
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.tensor import TensorRecord

_ASIDE = Trait.STEP | Trait.BACKWARD
_DEEPEST = 4
"""So many ops compute an average: the factors, the product, the sum."""

Ends = tuple[int, str, int, str]
"""(root, path) of a module that learns, and of the one that follows it."""


def moved_by_steps(analysis: Analysis) -> set[int]:
    """The parameters that a step wrote to."""
    steps = analysis.capture.steps
    return {p.tensor for step in steps for p in step.parameters if p.version_after > p.version_before}


def followed_models(analysis: Analysis, moved: set[int]) -> dict[Ends, list[Op]]:
    """Which module follows which, and the ops that write to it; what is copied once is a copy that follows nothing."""
    capture, owners = analysis.capture, analysis.capture.owners
    owned = {capture.tensors[tensor].storage: tensor for tensor in owners}
    trained = {capture.tensors[tensor].storage: tensor for tensor in moved}
    found: dict[Ends, dict[int, list[Op]]] = {}
    for op in writing(capture):
        for write in () if op.has(_ASIDE) or op.recorded else op.writes:
            target = capture.tensors[owned.get(write.storage, write.tensor)]
            if target.kind != "parameter" or target.id in capture.optimized or not target.names:
                continue
            for source in _sources(analysis, operands(op, write.tensor), trained):
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


def operands(op: Op, written: int) -> tuple[int, ...]:
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


def named_in(analysis: Analysis, root: int, path: str) -> Iterator[tuple[TensorRecord, str]]:
    """What a module has, each with its name there."""
    owners = analysis.capture.owners
    for record in analysis.capture.tensors:
        if record.of_model and (record.kind == "buffer" or owners.get(record.id) == root):
            for name in record.names:
                if within(name, path) and name != path:
                    yield record, name[len(path) + 1 if path else 0 :]
