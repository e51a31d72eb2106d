"""Where parameters came from: where they were made, where they became a model's, and which forward leaves them out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.unoptimized import Unoptimized
from autograd_inspector.model.location import Location, dedupe_locations
from autograd_inspector.model.op import ModuleCall
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import ModuleAttached, OptimizerCreated, ParameterRegistered

_MOST = 4
"""Of many parameters the first tell where they come from."""
_LINES = 3
"""Of a long forward the first lines that compute something."""


def joined_late(
    analysis: Analysis, tensor: int, optimizer: OptimizerRecord
) -> list[ParameterRegistered | ModuleAttached]:
    """What made the parameter a model's after the optimizer was made: its registration, or that of its module."""
    events = analysis.capture.events
    creations = (i for i, e in enumerate(events) if isinstance(e, OptimizerCreated) and e.optimizer == optimizer.id)
    later = events[next(creations, 0) :]
    return [e for e in later if isinstance(e, ParameterRegistered | ModuleAttached) and tensor in e.tensors]


def born_after(analysis: Analysis, tensor: int, optimizer: OptimizerRecord) -> bool:
    """Whether the parameter was made, or became a model's, when the optimizer was there already."""
    if optimizer.created_at < 0:
        return False
    made = analysis.flow.birth(tensor)
    return bool(joined_late(analysis, tensor, optimizer)) or (made is not None and made.index >= optimizer.created_at)


def birthplace(analysis: Analysis, tensor: int, optimizer: OptimizerRecord, role: str) -> tuple[Location, ...]:
    """Where a parameter came from after the optimizer, in program order; last where it was made before.

    One line that does it all plays ``role``.
    """
    late = joined_late(analysis, tensor, optimizer)
    first = next(iter(_makings(analysis, tensor)), -1)
    sites = list(dict.fromkeys(c.site for c in late))
    lines = {(p.filename, p.lineno) for site in sites if (p := analysis.capture.place(site)) is not None}
    if not sites:
        return tuple(place for site in _makings(analysis, tensor)[-1:] for place in analysis.user_frames(site, role))
    if len(lines) == 1 and (first in sites or first < 0):
        return analysis.user_frames(sites[0], role)
    sites = [*sites[:1], *sites[1:][-_LINES:]]
    sites_with_roles = [(site, "made here" if site == first else "put into the model here") for site in sites]
    if first >= 0 and first not in sites:
        sites_with_roles.append((first, "made here"))
    return tuple(place for site, role in sites_with_roles for place in analysis.user_frames(site, role))


def made_here(analysis: Analysis, tensors: Iterable[int]) -> tuple[Location, ...]:
    """Where the program made parameters, as far as the capture saw it."""
    sites = dict.fromkeys(site for tensor in tensors for site in _makings(analysis, tensor)[:1])
    return dedupe_locations(place for site in list(sites)[:_MOST] for place in analysis.user_frames(site, "made here"))


def _makings(analysis: Analysis, tensor: int) -> list[int]:
    """The sites that registered it; else where its memory was made, or where it became a leaf that learns."""
    capture, made = analysis.capture, analysis.flow.birth(tensor)
    return (
        [e.site for e in capture.events_of(ParameterRegistered) if e.tensor == tensor]
        or ([made.site] if made is not None else [])
        or [c.site for c in capture.requires_grad_changes if c.tensor == tensor][-1:]
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
    return any(born_after(analysis, t, loose.optimizer) for t in loose.parameters)


def thawed(analysis: Analysis, tensors: tuple[int, ...], optimizer: OptimizerRecord) -> tuple[Location, ...]:
    """Where they began to require grad, after the optimizer had left them out."""
    sites = [
        c.site
        for c in analysis.capture.requires_grad_changes
        if c.tensor in tensors
        and c.requires_grad
        and c.at >= max(optimizer.created_at, 0)
        and analysis.capture.steps
        and (
            c.folded
            or any(not analysis.requires_grad_at(c.tensor, s.at) for s in analysis.capture.steps if s.at < c.at)
        )
    ]
    return tuple(
        place for site in dict.fromkeys(sites[-2:]) for place in analysis.user_frames(site, "unfrozen here, too late")
    )


def first_use(analysis: Analysis, tensor: int) -> tuple[Location, ...]:
    """Where an op read it for the first time."""
    use = next((op for op in analysis.capture.ops if tensor in op.inputs), None)
    return analysis.user_frames(use.site, "used here") if use is not None else ()
