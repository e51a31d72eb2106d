"""What autograd recorded in place: each such edit's node goes on to the one before, as long as nothing cuts them apart."""

from __future__ import annotations

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait

_NOT_RECORDED = Trait.BACKWARD | Trait.STEP | Trait.INNER


class RecordedEdits:
    """Per tensor the ops that modified it, or a view of it, with a node of its own for the tensor's history."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._base: dict[int, int] = {}
        self.tensors: set[int] = set()
        """What got a history in place, the views through which it did included."""
        self.chains: dict[int, list[list[Op]]] = {}
        """Tensor -> its edits in program order; a new list begins where its history was taken away."""
        for op in capture.ops:
            if op.has(Trait.CUT):
                for tensor in set(op.outputs).intersection(op.inputs):
                    self.chains.get(self.base_of(tensor), []).append([])
            elif op.recorded and op.writes and not op.has(_NOT_RECORDED):
                self._add(op)

    def _add(self, op: Op) -> None:
        for write in op.writes:
            if write.tensor in op.outputs or _is_in_place(op.name):
                base = self.base_of(write.tensor)
                self.tensors |= {write.tensor, base}
                chains = self.chains.setdefault(base, [[]])
                if not chains[-1] or chains[-1][-1] is not op:
                    chains[-1].append(op)

    def base_of(self, tensor: int) -> int:
        """The tensor that this one is a view of, as autograd has it: what is detached is a tensor for itself."""
        path = []
        while tensor not in self._base:
            path.append(tensor)
            within = self._viewed(tensor)
            if within < 0:
                self._base[tensor] = tensor
            else:
                tensor = within
        for view in path:
            self._base[view] = self._base[tensor]
        return self._base[tensor]

    def _viewed(self, tensor: int) -> int:
        record = self._capture.tensors[tensor]
        made = self._capture.ops[record.birth] if record.birth >= 0 and record.storage >= 0 else None
        if made is None or made.has(Trait.CUT | Trait.ALIAS) or is_a(made.name, OpKind.DETACHES):
            return -1
        same = (read for read in made.inputs if self._capture.tensors[read].storage == record.storage)
        return next((read for read in same if read < tensor), -1)


def _is_in_place(name: str) -> bool:
    return name == "__setitem__" or (name.endswith("_") and not name.endswith("__"))
