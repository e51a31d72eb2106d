"""Parameters that a library brought into a model beside frozen ones, and took out again: adapters that were merged."""

from __future__ import annotations

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import ModuleExchanged, RequiresGradKept


class RemovedAdapters(Struct, frozen=True):
    """``tensors`` were trained and are gone since ``removed``; ``lines``: the program's, which had them brought in."""

    tensors: tuple[int, ...]
    removed: ModuleExchanged
    lines: frozenset[object]


def removed_adapters(analysis: Analysis, optimizer: OptimizerRecord) -> RemovedAdapters | None:
    """Those that were gone when an optimizer was made, if it has no others, and the program set no flag since."""
    brought: dict[int, tuple[frozenset[int], object]] = {}
    gone: dict[int, ModuleExchanged] = {}
    dropped: set[int] = set()
    for event in analysis.capture.events_of(ModuleExchanged):
        if event.at > optimizer.created_at or not by_library(analysis, event.site):
            continue
        went, came = (frozenset(pair) for pair in event.pairs)
        for tensor in came - went:
            brought[tensor] = went, line_of(analysis, event.site)
            gone.pop(tensor, None)
        gone |= dict.fromkeys((went - came) & brought.keys(), event)
        dropped |= went - came
    # What has taken the place of what it stood beside is a part of the model now.
    active = {
        tensor for tensor, (beside, _) in brought.items() if not (tensor in gone or (beside and beside <= dropped))
    }
    trained = tuple(tensor for tensor in gone if tensor in analysis.received_gradient)
    if not trained or not (active | gone.keys()).isdisjoint(optimizer.held):
        return None
    removed = max((gone[tensor] for tensor in trained), key=lambda event: event.at)
    if _sets_flags(analysis, removed.at):
        return None
    return RemovedAdapters(trained, removed, frozenset(brought[tensor][1] for tensor in trained))


def by_library(analysis: Analysis, site: int) -> bool:
    """Whether installed code did it, called by the program."""
    frames = analysis.capture.site(site)
    return len(frames) > 1 and frames[0].library


def _sets_flags(analysis: Analysis, since: int) -> bool:
    """Whether the program itself said what requires grad, be it what was so already."""
    capture = analysis.capture
    set_at = [(change.at, change.site) for change in capture.requires_grad_changes]
    set_at += [(event.at, event.site) for event in capture.events_of(RequiresGradKept)]
    return any(at >= since and not by_library(analysis, site) for at, site in set_at)
