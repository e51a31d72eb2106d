"""Ties of weights that are undone: a load gave each name its own, or one module was replaced and the other was not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.program_events import ModelLoaded, ModuleExchanged, ParameterRegistered


class UndoneTie(Struct, frozen=True):
    """``event`` put a module with the weight ``new`` where the one was that ``tied`` had been made in.

    ``old`` is the weight that was shared by ``tied``: the module that took it over still has it; ``both``: it has another
    one by now as well, with the values of the new one.
    """

    event: ModuleExchanged
    tied: ParameterRegistered
    old: int
    new: int
    both: bool = False


class PartedTie(Struct, frozen=True):
    """``event`` gave the names of one parameter a parameter each: (name, parameter) of both, as the module has them."""

    event: ModelLoaded
    one: tuple[str, int]
    other: tuple[str, int]


class SetApart(Struct, frozen=True):
    """The names of one parameter got a parameter each, ``one`` and ``other``, with copies of the same values.

    ``event`` registered the last of them, ``tied`` the one that both had been.
    """

    event: ParameterRegistered
    tied: ParameterRegistered
    one: int
    other: int


def set_apart(analysis: Analysis) -> Iterator[SetApart]:
    """Each pair once: values that lie in one memory are those of a tied parameter, as a checkpoint has them.

    What ``load_state_dict()`` set apart is told as that.
    """
    loaded = {frozenset(pair) for event in analysis.capture.events_of(ModelLoaded) for pair in event.pairs}
    registered = grouped(analysis.capture.events_of(ParameterRegistered), lambda event: event.tensor)
    tied = {old: events for old, events in registered.items() if len(events) > 1 and old not in analysis.capture.owners}
    new = (
        [(event, source) for event in _alone(registered) if (source := _copied_from(analysis, event.tensor)) >= 0]
        if tied
        else []
    )
    for old, events in tied.items():
        later = [(event, source) for event, source in new if event.at >= events[-1].at]
        for (one, source), (other, same) in combinations(later, 2):
            slots = {(one.type, one.name), (other.type, other.name)}
            alike = _rows(analysis, one.tensor) == _rows(analysis, old) == _rows(analysis, other.tensor)
            learn = _learns(analysis, one.tensor) and _learns(analysis, other.tensor)
            if frozenset((one.tensor, other.tensor)) in loaded:
                continue
            if source == same and alike and learn and slots == {(each.type, each.name) for each in events}:
                yield SetApart(other, events[-1], one.tensor, other.tensor)


def _alone(registered: dict[int, list[ParameterRegistered]]) -> list[ParameterRegistered]:
    """What registered a parameter that has one name."""
    return sorted((events[0] for events in registered.values() if len(events) == 1), key=lambda event: event.at)


def _copied_from(analysis: Analysis, tensor: int) -> int:
    """The memory that a parameter's values were copied from as it was made; -1: it was made otherwise."""
    made = analysis.flow.birth(tensor)
    copied = made is not None and is_a(made.name, OpKind.COPIES) and made.inputs
    return analysis.capture.tensors[made.inputs[0]].storage if made is not None and copied else -1


def parted_ties(analysis: Analysis) -> Iterator[PartedTie]:
    """Where both parameters are used and meant to learn; a tie that is made again leaves one of them unused.

    Two parameters on one memory still have the same values.
    """
    tensors = analysis.capture.tensors
    for event in analysis.capture.events_of(ModelLoaded):
        for (name, other_name), (one, other) in zip(event.pair_names, event.pairs, strict=True):
            apart = tensors[one].storage != tensors[other].storage
            if apart and _learns(analysis, one) and _learns(analysis, other):
                yield PartedTie(event, (name, one), (other_name, other))


def undone_ties(analysis: Analysis) -> Iterator[UndoneTie]:
    """Each exchange once, where both weights are meant to learn, are used, and have rows alike.

    A follower that is replaced leaves on purpose: a new head. The one that it follows takes the tie along. Where both
    were replaced, the tie was meant to go on if one of the new weights was copied from the other.
    """
    yield from _both_replaced(analysis)
    for event in analysis.capture.events_of(ModuleExchanged):
        gone, come = event.pairs
        found = (tie for old in gone for tie in _kept(analysis, event, old, come))
        yield from list(found)[:1]


def _kept(analysis: Analysis, event: ModuleExchanged, old: int, come: tuple[int, ...]) -> Iterator[UndoneTie]:
    capture, lifecycle = analysis.capture, analysis.lifecycle
    registered = [each for each in lifecycle.registrations(old) if each.at <= event.at]
    if len(registered) < 2 or registered[0].type != event.type or registered[-1].type == event.type:
        return
    if old in come or old not in capture.owners or not _learns(analysis, old):
        return
    for new in come:
        alike = capture.owners.get(new) == capture.owners[old] and _rows(analysis, new) == _rows(analysis, old)
        if alike and _learns(analysis, new):
            yield UndoneTie(event, registered[-1], old, new)


def _both_replaced(analysis: Analysis) -> Iterator[UndoneTie]:
    """Two modules that shared a weight, and have two new ones with the same values."""
    exchanges = list(analysis.capture.events_of(ModuleExchanged))
    for first, last in combinations(exchanges, 2):
        for old in set(first.pairs[0]) & set(last.pairs[0]):
            registered = analysis.lifecycle.registrations(old)
            pairs = ((one, other) for one in first.pairs[1] for other in last.pairs[1] if one != other)
            for one, other in pairs if len(registered) > 1 else ():
                alike = _rows(analysis, one) == _rows(analysis, other)
                if alike and _learns(analysis, one) and _learns(analysis, other) and _copied(analysis, one, other):
                    yield UndoneTie(last, registered[-1], one, other, both=True)


def _copied(analysis: Analysis, one: int, other: int) -> bool:
    """Whether the values of one were written into the other before any step."""
    tensors = analysis.capture.tensors
    pairs = {(tensors[one].storage, tensors[other].storage), (tensors[other].storage, tensors[one].storage)}
    first = min((step.at for step in analysis.capture.steps if {one, other} & set(step.held)), default=0)
    return any(
        (write.storage, tensors[read].storage) in pairs
        for op in analysis.capture.ops[:first]
        if is_a(op.name, OpKind.COPIES_INTO)
        for write in op.writes
        for read in op.inputs
    )


def _learns(analysis: Analysis, tensor: int) -> bool:
    return tensor in analysis.learning and analysis.lifecycle.used(tensor)


def _rows(analysis: Analysis, tensor: int) -> tuple[object, ...]:
    record = analysis.capture.tensors[tensor]
    return len(record.shape), *record.shape[1:]
