"""Where parameters came from: where they were made, where they became a model's, and which forward leaves them out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from autograd_inspector.model.event import Change
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import ModuleCall
from autograd_inspector.model.placement import OptimizerRecord
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.wording.places import unique

_MOST = 4
"""Of many parameters the first tell where they come from."""
_LINES = 3
"""Of a long forward the first lines that compute something."""


def joined_late(facts: Facts, tensor: int, optimizer: OptimizerRecord) -> list[Change]:
    """What made the parameter a model's after the optimizer was made: its registration, or that of its module."""
    changes = facts.capture.changes
    made = next((i for i, c in enumerate(changes) if c.kind == "optimizer_created" and c.optimizer == optimizer.id), 0)
    return [c for c in changes[made:] if tensor in c.tensors and _joins(c)]


def _joins(change: Change) -> bool:
    # A module becomes part of others as it is built; what counts is that a model that is known already got it.
    return change.kind == "registered" or (change.kind == "attached" and bool(change.detail))


def born_after(facts: Facts, tensor: int, optimizer: OptimizerRecord) -> bool:
    """Whether the parameter was made, or became a model's, when the optimizer was there already."""
    if optimizer.created_at < 0:
        return False
    made = facts.flow.birth(tensor)
    return bool(joined_late(facts, tensor, optimizer)) or (made is not None and made.index >= optimizer.created_at)


def birthplace(facts: Facts, tensor: int, optimizer: OptimizerRecord, role: str) -> tuple[Location, ...]:
    """Where a parameter came from after the optimizer, in program order; last where it was made before.

    One line that does it all plays ``role``.
    """
    late = joined_late(facts, tensor, optimizer)
    first = next(iter(_makings(facts, tensor)), -1)
    sites = list(dict.fromkeys(c.site for c in late))
    lines = {(p.filename, p.lineno) for site in sites if (p := facts.capture.place(site)) is not None}
    if not sites:
        return tuple(place for site in _makings(facts, tensor)[-1:] for place in facts.chain(site, role))
    if len(lines) == 1 and (first in sites or first < 0):
        return facts.chain(sites[0], role)
    sites = [*sites[:1], *sites[1:][-_LINES:]]
    found = [(site, "made here" if site == first else "put into the model here") for site in sites]
    if first >= 0 and first not in sites:
        found.append((first, "made here"))
    return tuple(place for site, role in found for place in facts.chain(site, role))


def made_here(facts: Facts, tensors: Iterable[int]) -> tuple[Location, ...]:
    """Where the program made parameters, as far as the capture saw it."""
    sites = dict.fromkeys(site for tensor in tensors for site in _makings(facts, tensor)[:1])
    return unique(place for site in list(sites)[:_MOST] for place in facts.chain(site, "made here"))


def _makings(facts: Facts, tensor: int) -> list[int]:
    """The sites that registered it; else where its memory was made, or where it became a leaf that learns."""
    capture, made = facts.capture, facts.flow.birth(tensor)
    return (
        [c.site for c in capture.changes if c.kind == "registered" and tensor in c.tensors]
        or ([made.site] if made is not None else [])
        or [c.site for c in capture.leaf_changes if c.tensor == tensor][-1:]
    )


def forwards_without(facts: Facts, tensors: Iterable[int]) -> tuple[Location, ...]:
    """The forward that should have used parameters and did not: of the innermost module around each that was called."""
    calls = dict.fromkeys(call for tensor in tensors for call in _around(facts, tensor))
    found = [place for call in list(calls)[:_MOST] for place in _forward(facts, call)]
    return unique(found)[:_LINES]


def _around(facts: Facts, tensor: int) -> Iterator[ModuleCall]:
    capture = facts.capture
    root, names = capture.owners.get(tensor, -1), capture.tensors[tensor].names
    if root < 0 or not names:
        return
    name = names[0].removeprefix(f"{capture.models[root]}.")
    holding = [call for call in capture.calls if call.root == root and name.startswith(_within(call.path))]
    if holding:
        yield max(holding, key=lambda call: len(call.path))


def _within(path: str) -> str:
    return f"{path}." if path else ""


def _forward(facts: Facts, call: ModuleCall) -> Iterator[Location]:
    """The user's lines of one forward: those of the ops that it runs itself, else of all that it calls."""
    ops = facts.capture.ops[call.at :]
    direct = [op for op in ops if op.call == call.id]
    within = {call.id}
    for other in facts.capture.calls[call.id + 1 :]:
        if other.parent in within:
            within.add(other.id)
    for op in direct or [op for op in ops if op.call in within]:
        frames = [p for p in facts.chain(op.site, "forward without it") if p.function.endswith(".forward")]
        own = [p for p in frames if p.function.endswith(f"{call.type}.forward")]
        yield from (own or (frames if direct else []))[:1]
