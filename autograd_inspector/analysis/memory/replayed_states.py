"""A recurrent computation that is run again for its gradient, from a state that the first run has written over.

A rollout computes with grad mode off and writes each new state into one tensor; the update reads the first sample again,
together with that tensor, which has the last state by then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.classifier import differentiable
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import writing
from autograd_inspector.model.op import Op, Trait

_NEAR = 4
"""Ops between a state and what the layer reads of it: a mask, a view."""
_ASIDE = Trait.STEP | Trait.BACKWARD


class ReplayedState(Struct, frozen=True):
    """``replay`` reads the sample of ``first`` again and ``states`` as well, which ``written`` changed in between."""

    states: tuple[int, ...]
    first: Op
    replay: Op
    written: Op


def replayed_states(analysis: Analysis) -> Iterator[ReplayedState]:
    """One for each line that computes again.

    A fixed point that is searched for without a graph is computed from one sample all the time: the last state has to
    come from another one.
    """
    found: dict[object, dict[int, ReplayedState]] = {}
    states = frozenset(_written_between(analysis))
    for tensor in sorted(states):
        each = _replayed(analysis, tensor, states)
        if each is not None:
            found.setdefault(each.replay.site, {}).setdefault(tensor, each)
    for by_tensor in found.values():
        first = next(iter(by_tensor.values()))
        yield ReplayedState(tuple(by_tensor), first.first, first.replay, first.written)


def _written_between(analysis: Analysis) -> Iterator[int]:
    """Tensors of no model that hold no graph, and that the program writes to with grad mode off, as a whole."""
    capture = analysis.capture
    written = dict.fromkeys(
        write.tensor for op in writing(capture) if not op.recorded and not op.has(_ASIDE) for write in op.writes
    )
    for tensor in written:
        record = capture.tensors[tensor]
        if not record.of_model and not record.requires_grad and differentiable(record.dtype):
            yield tensor


def _replayed(analysis: Analysis, tensor: int, states: frozenset[int]) -> ReplayedState | None:
    reads = [each for at in analysis.capture.readers.get(tensor) if (each := _layer(analysis, tensor, at)) is not None]
    plain = [layer for _, layer in reads if not layer.recorded]
    for at, replay in reads:
        if not replay.recorded or not plain or at < plain[0].index:
            continue
        weights, samples = _weights(analysis, replay), _samples(analysis, replay, states)
        alike = [layer for layer in plain if layer.index < at and _weights(analysis, layer) == weights]
        firsts = [layer for layer in alike if samples and _samples(analysis, layer, states) == samples]
        written = next(iter(analysis.writes_back(_storage(analysis, tensor), 0, at)), None)
        if firsts and written is not None and written[0].index > firsts[0].index:
            source = _computed_by(analysis, written[0], tensor, alike)
            if source is not None and _samples(analysis, source, states) != samples:
                return ReplayedState((tensor,), firsts[0], replay, written[0])
    return None


def _storage(analysis: Analysis, tensor: int) -> int:
    return analysis.capture.tensors[tensor].storage


def _layer(analysis: Analysis, tensor: int, at: int) -> tuple[int, Op] | None:
    """(when, the op with parameters that gets it) of what an op reads of a tensor, at once or a few ops later.

    What a view shows is read by the op behind it.
    """
    capture, values, when = analysis.capture, {tensor}, -1
    following: Sequence[int] = (at,)
    for _ in range(_NEAR):
        op = next((capture.ops[index] for index in following if not values.isdisjoint(capture.ops[index].inputs)), None)
        if op is None or op.writes or op.has(_ASIDE):
            return None
        when = op.index if when < 0 and not is_a(op.name, OpKind.VIEWS | OpKind.ALIASES) else when
        if _weights(analysis, op):
            return when, op
        values = set(op.outputs)
        following = sorted({index for value in values for index in capture.readers.get(value) if index > op.index})
    return None


def _weights(analysis: Analysis, op: Op) -> tuple[int, ...]:
    tensors = analysis.capture.tensors
    return tuple(t for t in op.inputs if tensors[t].kind == "parameter")


def _samples(analysis: Analysis, layer: Op, states: frozenset[int]) -> frozenset[int]:
    """What the layer reads beside its parameters and states: the tensors that came into the module's calls."""
    capture = analysis.capture
    found = set[int]()
    for given in layer.inputs:
        source = given
        made = analysis.flow.birth(source)
        while made is not None and made.call >= 0:
            read = [t for t in made.inputs if not capture.tensors[t].of_model]
            if len(read) != 1:
                break
            source = read[0]
            made = analysis.flow.birth(source)
        carried = made is not None and not states.isdisjoint(made.inputs)
        if not capture.tensors[source].of_model and source not in states and not carried:
            found.add(source)
    return frozenset(found)


def _computed_by(analysis: Analysis, written: Op, state: int, layers: Sequence[Op]) -> Op | None:
    """The layer whose result was written to the state."""
    wanted = {layer.index: layer for layer in layers}
    values = [t for t in written.inputs if t != state]
    for _ in range(_NEAR):
        made = next((op for op in map(analysis.flow.birth, values) if op is not None), None)
        if made is None or made.index in wanted:
            return None if made is None else wanted[made.index]
        values = [t for t in made.inputs if not analysis.capture.tensors[t].of_model]
    return None
