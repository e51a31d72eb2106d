"""Statements that compute a new value and drop it: ``scores.masked_fill(mask, -inf)`` for ``masked_fill_``."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from autograd_inspector.capture.freezing.discarded_results import is_gone
from autograd_inspector.capture.freezing.handed_back import HandedBack, Taking
from autograd_inspector.capture.recording.raw_records import (
    OP_ERROR,
    OP_FIRST,
    OP_INPUTS,
    OP_LAST,
    OP_NAME,
    OP_OUTPUTS,
    OP_SITE,
    OP_TRAITS,
    OP_WRITES,
    RawOp,
)
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import ResultDiscarded

_ASIDE = int(Trait.BACKWARD | Trait.STEP | Trait.INNER | Trait.EXPORT | Trait.COLLECTIVE)


def dropped_values(recording: Recording) -> Iterator[ResultDiscarded]:
    """One event for each statement of the program whose results, all of them, are gone unread.

    Of ops that autograd recorded, and that have a form which writes the result into what they are called on: that goes
    on with its old value. Also of what a function of the program's returns that does nothing else, and that nobody else
    calls: what it was given goes on.
    """
    made: dict[int, list[int]] = {}
    """Site -> the ops of it."""
    for index, op in recording.ops.items():
        if _computes(op):
            made.setdefault(op[OP_SITE], []).append(index)
    handed_back = HandedBack(recording)
    takings = {site: handed_back.taking(site) for site in made}
    dropped = {site: taking for site, taking in takings.items() if taking is not None and taking.by == "POP_TOP"}
    read = {tensor for _, op in recording.ops.items() for tensor in op[OP_INPUTS]} if dropped else set()
    for site, taking in dropped.items():
        ops = [recording.ops[index] for index in made[site]]
        results = [op[OP_OUTPUTS][0] for op in ops]
        if not read.isdisjoint(results) or not all(is_gone(recording, result) for result in results):
            continue
        last, name = made[site][-1], ops[-1][OP_NAME]
        if taking.depth:  # Of what a loop gives it in turn the last may go nowhere, as nothing comes behind it.
            first, owner = made[site][0], _given(recording, handed_back, taking, results[0])
            if owner >= 0:
                at = handed_back.site(taking)
                yield ResultDiscarded(first, at, name, (owner,), of="values", function=taking.function)
        elif hasattr(torch.Tensor, f"{name}_") and all(_of_one_shape(recording, op) for op in ops):
            owners = tuple(dict.fromkeys(op[OP_INPUTS][0] for op in ops))
            yield ResultDiscarded(last, site, name, owners, of="values")


def _computes(op: RawOp) -> bool:
    """Whether autograd recorded it, and it returned one tensor."""
    if op[OP_LAST] <= op[OP_FIRST] or len(op[OP_OUTPUTS]) != 1 or not op[OP_INPUTS] or op[OP_NAME].endswith("_"):
        return False
    return not (op[OP_WRITES] or op[OP_ERROR] or op[OP_TRAITS] & _ASIDE)


def _of_one_shape(recording: Recording, op: RawOp) -> bool:
    """Whether its result is a new tensor of the shape of the first that it was given."""
    facts, result, owner = recording.registry.facts, op[OP_OUTPUTS][0], op[OP_INPUTS][0]
    return result != owner and result in facts and owner in facts and facts[result][0] == facts[owner][0]


def _given(recording: Recording, handed_back: HandedBack, taking: Taking, result: int) -> int:
    """What a function was given that did nothing but to compute a result of that shape from it; -1: nothing, or more.

    One that is also called elsewhere may be tried here: before it is timed, or compiled.
    """
    facts, entries = recording.registry.facts, recording.registry.entries
    shape = facts[result][0] if result in facts else ()
    if not shape or handed_back.serves_elsewhere(taking) or not handed_back.without_effect(taking):
        return -1
    ops = handed_back.inside(taking)
    made = {tensor for op in ops for tensor in op[OP_OUTPUTS]}
    given = dict.fromkeys(tensor for op in ops for tensor in op[OP_INPUTS] if tensor not in made)
    alike = (
        tensor
        for tensor in given
        if tensor in facts
        and facts[tensor][0] == shape
        and entries[tensor].requires_grad
        and tensor not in recording.registry.parameters
    )
    return next(alike, -1)
