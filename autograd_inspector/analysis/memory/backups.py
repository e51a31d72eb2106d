"""Copies of parameters that were taken before something else was written into them, and that nothing ever puts back."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.ledger import Ledger, written_from
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import ops_of
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op, Trait

_PUTS = OpKind.COPIES_INTO | OpKind.ALIASES
_ASIDE = Trait.STEP | Trait.BACKWARD | Trait.INNER


class Backup(Struct, frozen=True):
    """``taken`` copied a parameter, ``written`` overwrote or moved it, and a ``step`` (its op) went on from there."""

    tensor: int
    taken: Op
    written: Op
    step: int


def never_restored(analysis: Analysis) -> Iterator[Backup]:
    """Of each such copy that nothing reads, where the function that took it writes the parameter before the next step.

    Or one that it calls, with values of something else, for an evaluation. A copy that is to be compared with later is
    taken before many steps, or elsewhere, or by a line of whose copies others are computed with.
    """
    capture = analysis.capture
    parameters = _by_storage(analysis)
    of_models = {record.storage for record in capture.tensors if record.of_model}
    steps_of = _Steps(analysis)
    looked_at: dict[int, bool] = {}
    swaps = _Swaps(analysis)
    for taken in ops_of(capture, OpKind.COPIES):
        if taken.has(_ASIDE) or len(taken.outputs) != 1 or not taken.inputs:
            continue
        if capture.tensors[taken.outputs[0]].storage in of_models:
            continue  # A model was copied.
        tensor = parameters.get(capture.tensors[taken.inputs[0]].storage, -1)
        if tensor < 0 or any(index > taken.index for index in capture.readers.get(taken.outputs[0], ())):
            continue
        steps = steps_of.moving(tensor)
        at = bisect_left(steps, taken.index)
        written = _written(analysis, tensor, taken, steps[at]) if at < len(steps) else None
        if written is None and 0 < at < len(steps):
            written = swaps.written(tensor, taken, steps[at])
        if written is None or (at == 0 and _loads(analysis, written)):
            continue  # What is loaded before any training replaces values that nobody wants back.
        if taken.site not in looked_at:
            looked_at[taken.site] = _looked_at(analysis, taken.site)
        if not looked_at[taken.site]:
            yield Backup(tensor, taken, written, steps[at])


def _looked_at(analysis: Analysis, site: int) -> bool:
    """Whether the program computes with some of the copies that a line takes, instead of putting them back."""
    capture = analysis.capture
    copies = (tensor for op in capture.ops if op.site == site for tensor in op.outputs)
    return any(
        capture.tensors[tensor].looked_at
        or any(not is_a(capture.ops[at].name, _PUTS) for at in capture.readers.get(tensor, ()))
        for tensor in copies
    )


def _loads(analysis: Analysis, op: Op) -> bool:
    return op.site >= 0 and analysis.capture.sites[op.site].through == "Module.load_state_dict"


def _by_storage(analysis: Analysis) -> dict[int, int]:
    """The memory of what is trained -> the parameter, all of which lies there."""
    tensors = analysis.capture.tensors
    records = (tensors[tensor] for tensor in analysis.optimized_trainable)
    return {record.storage: record.id for record in records if record.storage >= 0}


class _Steps:
    """The steps by the parameters of which they met a gradient."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis

    def moving(self, tensor: int) -> Sequence[int]:
        """The ops that stand for the steps that met a gradient of a parameter.

        None, where an optimizer has it that is not torch's own: its step() may put back what it had kept itself.
        """
        optimizers = self._analysis.capture.placement.optimizers
        holders = self._analysis.timeline.holders((tensor,))
        if not all(optimizers[number].module.startswith("torch.optim.") for number in holders):
            return ()
        steps = self._met.get(tensor, {})
        return sorted(op for op, optimizer in steps.items() if optimizer in holders)

    @cached_property
    def _met(self) -> dict[int, dict[int, int]]:
        """Parameter -> the steps that met a gradient of it, each with its optimizer."""
        met: dict[int, dict[int, int]] = {}
        for step in self._analysis.capture.steps:
            for parameter in step.parameters:
                if parameter.gradient >= 0:
                    met.setdefault(parameter.tensor, {})[step.op] = step.optimizer
        return met


def _written(analysis: Analysis, tensor: int, taken: Op, end: int) -> Op | None:
    """The first op that writes the parameter then, in the function that took the copy; none, where one restores it.

    What is written from the memory of another copy of the same value is put back.
    """
    storage = analysis.capture.tensors[tensor].storage
    writes = [op for op, _ in analysis.writes_to(storage, tensor, taken.index + 1, end) if not op.has(_ASIDE)]
    first = writes[0] if len(writes) == 1 else None
    return first if first is not None and _behind(_statement(analysis, taken), _statement(analysis, first)) else None


def _behind(taken: Location | None, written: Location | None) -> bool:
    """Whether one function took the copy and wrote then, in this order: one that writes first is in its next call."""
    return taken is not None and written is not None and taken.scope == written.scope and taken.lineno <= written.lineno


class _Swaps:
    """Values of something else that a function puts into parameters for an evaluation, by way of the functions it calls."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis

    @cached_property
    def _ledger(self) -> Ledger:
        return Ledger(self._analysis)

    def written(self, tensor: int, taken: Op, end: int) -> Op | None:
        """The only write to a parameter between the copy and the step, of all of it, where an evaluation follows it."""
        writes = self._ledger.by_hand(tensor, taken.index + 1, end)
        if len(writes) != 1 or not self._together(taken, writes[0][0]):
            return None
        op, write = writes[0]
        source = written_from(op, write)
        if (
            source is None
            or self._goes_back(source, tensor, op.index)
            or self._ledger.computed_with(tensor, taken.index, op.index)
        ):
            return None
        return op if self._evaluated(tensor, op.index, end) else None

    def _goes_back(self, source: int, tensor: int, now: int) -> bool:
        """Whether that is a copy of the parameter from an earlier moment, as it was then: no average of it."""
        analysis, tensors = self._analysis, self._analysis.capture.tensors
        made, storage = analysis.flow.birth(source), tensors[source].storage
        if made is None or not is_a(made.name, OpKind.COPIES) or not made.inputs:
            return False
        written = any(True for _ in analysis.writes_to(storage, source, made.index + 1, now))
        return tensors[made.inputs[0]].storage == tensors[tensor].storage and not written

    def _together(self, one: Op, other: Op) -> bool:
        """Whether one function of the program called both, right away: the statements of its own that did are two."""
        chains = [[f for f in self._analysis.capture.site(op.site) if not f.library] for op in (one, other)]
        scopes = [{frame.scope: frame.lineno for frame in reversed(chain)} for chain in chains]
        inner = next((frame for frame in chains[0] if frame.scope in scopes[1]), None)
        return inner is not None and scopes[0][inner.scope] < scopes[1][inner.scope]

    def _evaluated(self, tensor: int, start: int, end: int) -> bool:
        """Whether modules compute with it in between, and autograd records none of that before the step's own loss."""
        capture = self._analysis.capture
        readers = [capture.ops[at] for at in capture.readers.get(tensor, ()) if start < at < end]
        first = next((op for op in readers if op.call >= 0), None)
        return first is not None and not first.recorded


def _statement(analysis: Analysis, op: Op) -> Location | None:
    """The statement of the program that made a call; a comprehension is part of the function around it."""
    frames = (frame for frame in analysis.capture.site(op.site) if not frame.library)
    named = (frame for frame in frames if frame.function == "<module>" or not frame.function.endswith(">"))
    return next(named, None)
