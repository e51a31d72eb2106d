"""Copies of parameters that were made before the program loaded others, and that it goes on averaging with.

An average of the weights, the slow weights of Lookahead, a target network: what a checkpoint brings is mixed with the
random numbers of before. What was copied to be put back, or was itself loaded or copied anew, has nothing of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import ops_of
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import ModelLoaded

_ASIDE = Trait.STEP | Trait.BACKWARD
_DEEPEST = 6
"""So many ops compute an average: the factors, the product, the sum."""


class CopiedBefore(Struct, frozen=True):
    """``copied`` copied ``parameters`` before ``loaded`` gave them other numbers; ``mixed`` averages both.

    ``copies`` are those that a model has, or that were written to last.
    """

    parameters: tuple[int, ...]
    copies: tuple[int, ...]
    copied: Op
    loaded: ModelLoaded
    mixed: Op


def copied_before_load(analysis: Analysis) -> Iterator[CopiedBefore]:
    """One record for each line that copies and load. What is folded away may have copied them anew."""
    capture = analysis.capture
    loads = [event for event in capture.events_of(ModelLoaded) if not event.assign]
    if not loads or capture.history.folded:
        return
    copies = _Copies(analysis)
    for load in loads:
        found: dict[object, dict[int, tuple[Op, Op, int]]] = {}
        for parameter in load.tensors:
            for copied, mixed, copy in copies.of(parameter, load):
                found.setdefault(line_of(analysis, copied.site), {}).setdefault(parameter, (copied, mixed, copy))
        for each in found.values():
            copied, mixed, _ = next(iter(each.values()))
            yield CopiedBefore(tuple(each), tuple(copy for *_, copy in each.values()), copied, load, mixed)


class _Copies:
    """Which memory has what a parameter was, and what was done with it since."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._capture = analysis.capture
        tensors = self._capture.tensors
        self._made: dict[int, list[Op]] = {}
        """Memory -> the ops that copied it as a whole."""
        for op in ops_of(self._capture, OpKind.COPIES):
            if len(op.inputs) == len(op.outputs) == 1 and not op.has(_ASIDE):
                source, copy = tensors[op.inputs[0]], tensors[op.outputs[0]]
                if source.storage != copy.storage and source.nbytes == copy.nbytes:
                    self._made.setdefault(source.storage, []).append(op)

    def of(self, parameter: int, load: ModelLoaded) -> Iterator[tuple[Op, Op, int]]:
        """(what copied it before that load, what averages both afterwards, the copy)."""
        tensors, storage = self._capture.tensors, self._capture.tensors[parameter].storage
        made = [op for op in self._made.get(storage, ()) if op.index < load.at]
        written = self._load_of(parameter, load) if made else None
        if written is None or not self._fresh(storage, parameter, written.index):
            return
        own = {storage, *(tensors[op.outputs[0]].storage for op in made)}
        if any(self._depends(tensor, memory) for tensor in written.inputs[1:] for memory in own):
            return
        for op in made:
            memory = tensors[op.outputs[0]].storage
            if any(self._analysis.writes_to(memory, -1, op.index + 1, load.at)):
                continue
            mixed = self._averaged(memory, storage, load.at)
            if mixed is not None and self._trained(storage, parameter, load.at, mixed.index):
                yield op, mixed, self._named(memory, op.outputs[0])

    def _load_of(self, parameter: int, load: ModelLoaded) -> Op | None:
        """The op of the load that wrote to it."""
        writes = self._analysis.writes_back(self._capture.tensors[parameter].storage, 0, load.at)
        last = next((op for op, _ in writes), None)
        same = last is not None and line_of(self._analysis, last.site) == line_of(self._analysis, load.site)
        return last if same else None

    def _fresh(self, storage: int, parameter: int, before: int) -> bool:
        """Whether it was neither trained nor loaded until then: weights that are worth something may be mixed in."""
        writes = (op for op, _ in self._analysis.writes_to(storage, parameter, 0, before))
        return not any(op.has(Trait.STEP) or is_a(op.name, OpKind.COPIES_INTO) for op in writes)

    def _trained(self, storage: int, parameter: int, start: int, end: int) -> bool:
        return any(op.has(Trait.STEP) for op, _ in self._analysis.writes_to(storage, parameter, start, end))

    def _averaged(self, memory: int, storage: int, since: int) -> Op | None:
        """What first computes with both, and writes into one of them; None where the copy is written anew before that."""
        end, both = len(self._capture.ops), (memory, storage)
        writes = sorted(
            ((op, of) for of in both for op, _ in self._analysis.writes_to(of, -1, since, end) if not op.has(_ASIDE)),
            key=lambda pair: pair[0].index,
        )
        continued = False
        for op, of in writes:
            reads = [each for each in both if self._reads(op, each)]
            if of == memory and (memory not in reads or self._wiped(op)):
                return None
            if of == storage and not continued and memory not in reads:
                continue
            if len(reads) == 2 or (continued and of == memory and storage in reads):
                return op
            continued = continued or of == memory
        return None

    def _wiped(self, op: Op) -> bool:
        return is_a(op.name, OpKind.MULTIPLIES) and 0 in self._capture.given.get(op.index, {}).values()

    def _reads(self, op: Op, memory: int) -> bool:
        """Whether what an op writes is computed from a memory."""
        tensors, inputs = self._capture.tensors, op.inputs
        if is_a(op.name, OpKind.COPIES_INTO):
            inputs = inputs[1:]
        return any(tensors[tensor].storage == memory or self._depends(tensor, memory) for tensor in inputs)

    def _depends(self, tensor: int, memory: int) -> bool:
        tensors, todo, met = self._capture.tensors, [(tensor, _DEEPEST)], {tensor}
        while todo:
            each, deepest = todo.pop()
            if tensors[each].storage == memory:
                return True
            made = self._analysis.flow.birth(each)
            for read in made.inputs if made is not None and deepest and not made.has(_ASIDE) else ():
                if read not in met:
                    met.add(read)
                    todo.append((read, deepest - 1))
        return False

    def _named(self, memory: int, copy: int) -> int:
        """The tensor of a model that has the memory, else the copy."""
        return next((each.id for each in self._capture.tensors if each.storage == memory and each.of_model), copy)
