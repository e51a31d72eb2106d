"""Statements that compute a new value and drop it: ``scores.masked_fill(mask, -inf)`` for ``masked_fill_``."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from autograd_inspector.capture.freezing.discarded_results import Takers, is_gone
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
    on with its old value. What a function returns to a caller that drops it is not meant.
    """
    in_place: dict[str, bool] = {}
    candidates: dict[int, int] = {}
    for index, op in recording.ops.items():
        name = op[OP_NAME]
        if name not in in_place:
            in_place[name] = not name.endswith("_") and hasattr(torch.Tensor, f"{name}_")
        if in_place[name] and _computes(recording, op):
            candidates[op[OP_OUTPUTS][0]] = index
    takers = Takers()
    by_site: dict[int, list[int]] = {}
    for result, index in candidates.items():
        by_site.setdefault(recording.ops[index][OP_SITE], []).append(result)
    dropped = {site: results for site, results in by_site.items() if _drops(recording, takers, site)}
    read = {tensor for _, op in recording.ops.items() for tensor in op[OP_INPUTS]} if dropped else set()
    for site, results in dropped.items():
        if read.isdisjoint(results) and all(is_gone(recording, result) for result in results):
            last = candidates[results[-1]]
            owners = dict.fromkeys(recording.ops[candidates[result]][OP_INPUTS][0] for result in results)
            yield ResultDiscarded(last, site, recording.ops[last][OP_NAME], tuple(owners), of="values")


def _computes(recording: Recording, op: RawOp) -> bool:
    """Whether autograd recorded it, and it returned one new tensor of the shape of the first that it was given."""
    if op[OP_LAST] <= op[OP_FIRST] or len(op[OP_OUTPUTS]) != 1 or not op[OP_INPUTS]:
        return False
    if op[OP_WRITES] or op[OP_ERROR] or op[OP_TRAITS] & _ASIDE:
        return False
    facts, result, owner = recording.registry.facts, op[OP_OUTPUTS][0], op[OP_INPUTS][0]
    return result != owner and result in facts and owner in facts and facts[result][0] == facts[owner][0]


def _drops(recording: Recording, takers: Takers, site: int) -> bool:
    """Whether the statement there is one of the program's own, and keeps nothing."""
    chain = recording.stacks.chains[site] if 0 <= site < len(recording.stacks.chains) else []
    if not chain or chain[0][2] or recording.stacks.through.get(site, ""):
        return False  # Of a function of torch's it is not known what it does with the result.
    return takers.of(chain[0][0], chain[0][1]) == "POP_TOP"
