"""Where parameters came from: where they were made, where they became a model's, and which forward leaves them out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.parameters.unoptimized import Unoptimized
from autograd_inspector.model.location import Location, dedupe_locations
from autograd_inspector.model.op import ModuleCall
from autograd_inspector.model.placement_rows import OptimizerRecord

_MOST = 4
"""Of many parameters the first tell where they come from."""
_LINES = 3
"""Of a long forward the first lines that compute something."""


def birthplace(analysis: Analysis, tensor: int, optimizer: OptimizerRecord, role: str) -> tuple[Location, ...]:
    """Where a parameter came from after the optimizer, in program order; last where it was made before.

    One line that does it all plays ``role``.
    """
    late = analysis.lifecycle.joined_since(tensor, optimizer)
    first = next(iter(analysis.lifecycle.made_at(tensor)), -1)
    sites = list(dict.fromkeys(c.site for c in late))
    lines = {p.line for site in sites if (p := analysis.capture.place(site)) is not None}
    if not sites:
        return tuple(
            place for site in analysis.lifecycle.made_at(tensor)[-1:] for place in analysis.user_frames(site, role)
        )
    if len(lines) == 1 and (first in sites or first < 0):
        return analysis.user_frames(sites[0], role)
    sites = [*sites[:1], *sites[1:][-_LINES:]]
    sites_with_roles = [(site, "created here" if site == first else "added to the model here") for site in sites]
    if first >= 0 and first not in sites:
        sites_with_roles.append((first, "created here"))
    return tuple(place for site, role in sites_with_roles for place in analysis.user_frames(site, role))


def made_here(analysis: Analysis, tensors: Iterable[int]) -> tuple[Location, ...]:
    """Where the program made parameters, as far as the capture saw it."""
    sites = dict.fromkeys(site for tensor in tensors for site in analysis.lifecycle.made_at(tensor)[:1])
    return dedupe_locations(
        place for site in list(sites)[:_MOST] for place in analysis.user_frames(site, "created here")
    )


def forwards_without(analysis: Analysis, tensors: Iterable[int]) -> tuple[Location, ...]:
    """The forward that should have used parameters and did not: of the innermost module around each that was called."""
    calls = dict.fromkeys(call for tensor in tensors for call in _around(analysis, tensor))
    places = [place for call in list(calls)[:_MOST] for place in _forward(analysis, call)]
    return dedupe_locations(places)[:_LINES]


def _around(analysis: Analysis, tensor: int) -> Iterator[ModuleCall]:
    capture = analysis.capture
    root, names = capture.owners.get(tensor, -1), capture.tensors[tensor].names
    if root < 0 or not names:
        return
    name = names[0].removeprefix(f"{capture.models[root]}.")
    holding = [call for call in capture.calls if call.root == root and name.startswith(_within(call.path))]
    if holding:
        yield max(holding, key=lambda call: len(call.path))


def _within(path: str) -> str:
    return f"{path}." if path else ""


def _forward(analysis: Analysis, call: ModuleCall) -> Iterator[Location]:
    """The user's lines of one forward: those of the ops that it runs itself, else of all that it calls."""
    ops = analysis.capture.ops[call.at :]
    direct = [op for op in ops if op.call == call.id]
    within = {call.id}
    for other in analysis.capture.calls[call.id + 1 :]:
        if other.parent in within:
            within.add(other.id)
    for op in direct or [op for op in ops if op.call in within]:
        frames = [p for p in analysis.user_frames(op.site, "forward without it") if p.function.endswith(".forward")]
        own_frames = [p for p in frames if p.function.endswith(f"{call.type}.forward")]
        yield from (own_frames or (frames if direct else []))[:1]


def were_replaced(analysis: Analysis, loose: Unoptimized) -> bool:
    """Whether the loose parameters took the place of the orphans (and were not simply left out from the start)."""
    if not loose.orphans:
        return False
    if loose.optimizer.site < 0:
        return True
    return any(analysis.lifecycle.began_after(t, loose.optimizer) for t in loose.parameters)


def frozen_here(analysis: Analysis, tensors: Iterable[int], *, until: float = math.inf) -> tuple[Location, ...]:
    """Where one of them was frozen the last time, up to moment ``until`` (an op index)."""
    changes = analysis.lifecycle.frozen(tensors, until=until)
    return tuple(place for change in changes[-1:] for place in analysis.user_frames(change.site, "frozen here"))


def thawed(analysis: Analysis, tensors: tuple[int, ...], optimizer: OptimizerRecord) -> tuple[Location, ...]:
    """Where they began to require grad, after the optimizer had left them out."""
    steps = analysis.capture.steps
    sites = [
        change.site
        for change in analysis.lifecycle.unfrozen(tensors, since=max(optimizer.created_at, 0))
        if change.folded
        or any(not analysis.lifecycle.requires_grad_at(change.tensor, step.at) for step in steps if step.at < change.at)
    ]
    return tuple(
        place for site in dict.fromkeys(sites[-2:]) for place in analysis.user_frames(site, "unfrozen here, too late")
    )


def first_use(analysis: Analysis, tensor: int) -> tuple[Location, ...]:
    """Where an op read it for the first time."""
    use = analysis.lifecycle.first_reader(tensor)
    return analysis.user_frames(use.site, "used here") if use is not None else ()
