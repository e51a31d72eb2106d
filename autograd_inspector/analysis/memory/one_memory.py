"""Parameters that are different tensors on the same memory, and who writes it through which of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from msgspec import Struct

from autograd_inspector.analysis.memory.assigned_data import assigns
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import ModelLoaded
from autograd_inspector.model.tensor import TensorRecord

_NO_EDIT = Trait.STEP | Trait.BACKWARD
_FROM_ARRAY = "from_numpy"


class Shared(Struct, frozen=True):
    """``joined`` has had the memory of ``owner`` since op ``since``; the op that assigned it, where one did."""

    owner: int
    joined: int
    since: int
    assigned: Op | None = None


class OneMemory:
    """Asked of a whole capture."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._assigned: dict[int, Op] = {}
        """Parameter -> the last assignment to its ``.data``."""
        self._edits: dict[int, list[Op]] = {}
        """Parameter -> the program's own ops that modified it, itself or through what shows its memory."""
        self._arrived: dict[int, list[int]] = {}
        """Storage -> the ops that made tensors over it, of an array that the program did not get from a tensor."""
        for op in capture.ops:
            if op.name == _FROM_ARRAY and not op.inputs:
                for tensor in op.outputs:
                    self._arrived.setdefault(capture.tensors[tensor].storage, []).append(op.index)
            for write in op.writes if not op.has(_NO_EDIT) else ():
                if assigns(op):
                    self._assigned[write.tensor] = op
                else:
                    self._edits.setdefault(self._shown(write.tensor), []).append(op)

    def pairs(self) -> Iterator[Shared]:
        """Parameters that have the same bytes now: parts of one memory that lie apart share nothing."""
        by_storage: dict[int, list[int]] = {}
        for record in self._capture.tensors:
            memory = self._memory(record)
            if record.kind == "parameter" and memory.storage >= 0 and 0 < memory.nbytes == memory.extent:
                by_storage.setdefault(memory.storage, []).append(record.id)
        for tensors in by_storage.values():
            for one, other in combinations(tensors, 2):
                if self._memory(self._capture.tensors[one]).overlaps(self._memory(self._capture.tensors[other])):
                    first, last = sorted((one, other), key=self._since)
                    yield Shared(first, last, self._since(last), self._assigned.get(last))

    def written_by_both(self, pair: Shared) -> bool:
        """Whether an optimizer steps one of them, and another update goes through the other one since."""
        stepped = [self.steps_of(tensor, pair.since) for tensor in (pair.owner, pair.joined)]
        if all(stepped):
            return True
        edited = [self._edits.get(tensor, ()) for tensor in (pair.joined, pair.owner)]
        return any(
            steps and any(op.index > steps[0] and not self._loads(op) for op in edits)
            for steps, edits in zip(stepped, edited, strict=True)
        )

    def taken_in_again(self, pair: Shared) -> bool:
        """Whether optimizers step both, each for a time, and the array was taken in again after the first had changed it.

        The program that passes the array twice means its values; who passes on what was trained passes another one.
        """
        storage = self._memory(self._capture.tensors[pair.joined]).storage
        first, later = (self.steps_of(tensor, -1) for tensor in (pair.owner, pair.joined))
        if not first or not later or later[0] < pair.since:
            return False
        arrivals = self._arrived.get(storage, ())
        return any(before < first[0] for before in arrivals) and any(first[0] < at < later[0] for at in arrivals)

    def learn_both(self, pair: Shared) -> bool:
        """Whether optimizers step both with gradients of their own, and each is all of the memory."""
        tensors = self._capture.tensors
        whole = tensors[pair.owner].shape == tensors[pair.joined].shape
        return whole and all(self.steps_of(tensor, pair.since) for tensor in (pair.owner, pair.joined))

    def moves_frozen_rows(self, pair: Shared) -> bool:
        """Whether an optimizer steps a part of the memory of the other, which is frozen and read again afterwards.

        Of a frozen parameter that has all of the memory that is its purpose: a copy of a policy that follows it.
        """
        tensors = self._capture.tensors
        part, whole = sorted((pair.owner, pair.joined), key=lambda tensor: tensors[tensor].extent)
        steps = self.steps_of(part, pair.since)
        if not steps or tensors[whole].requires_grad or tensors[part].extent == tensors[whole].extent:
            return False
        return any(
            index > steps[0] and not self._capture.ops[index].has(_NO_EDIT)
            for index in self._capture.readers.get(whole, ())
        )

    def update_sites(self, pair: Shared) -> list[int]:
        """Where they are written: the first step or edit through each."""
        sites = []
        for tensor in (pair.owner, pair.joined):
            edits = [op.index for op in self._edits.get(tensor, ()) if op.index > pair.since and not self._loads(op)]
            found = [*self.steps_of(tensor, pair.since)[:1], *edits[:1]]
            sites += [self._capture.ops[op].site for op in found[:1]]
        return list(dict.fromkeys(sites))

    def steps_of(self, tensor: int, since: int) -> list[int]:
        """The ops that stand for the steps in which an optimizer had a gradient for it."""
        return [
            step.op
            for step in self._capture.steps
            if step.op > since
            and any(p.tensor == tensor and p.gradient >= 0 and step.rate(p) != 0 for p in step.parameters)
        ]

    def _memory(self, record: TensorRecord) -> TensorRecord:
        """What has the memory that a tensor has now: where its ``.data`` was assigned, what was assigned."""
        op = self._assigned.get(record.id)
        return record if op is None else self._capture.tensors[op.inputs[0]]

    def _since(self, tensor: int) -> int:
        op = self._assigned.get(tensor)
        return self._capture.tensors[tensor].first_use if op is None else op.index

    def _shown(self, tensor: int) -> int:
        """The parameter whose memory a view or an alias shows, or else what that began with."""
        tensors, ops = self._capture.tensors, self._capture.ops
        while tensors[tensor].kind != "parameter" and tensors[tensor].birth >= 0:
            made = ops[tensors[tensor].birth]
            if not made.inputs or made.inputs[0] >= tensor or not is_a(made.name, OpKind.VIEWS):
                break
            tensor = made.inputs[0]
        return tensor

    def _loads(self, op: Op) -> bool:
        """Whether a checkpoint was loaded there, which writes every parameter by its name."""
        place = self._capture.place(op.site)
        loads = (self._capture.place(event.site) for event in self._capture.events_of(ModelLoaded))
        return place is not None and any(load is not None and load.line == place.line for load in loads)
