"""AG501 under selective activation checkpointing: what a region's cache held was handed out already."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.regions_recomputed_again import RecomputedAgain, recomputed_again
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import ContextsGiven


def cache_used_up(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each backward that failed at it."""
    for found in recomputed_again(analysis):
        yield _shared(analysis, found) if found.before is None else _again(analysis, found)


def _shared(analysis: Analysis, found: RecomputedAgain) -> Problem:
    """The entries were those of another region."""
    return Problem(
        "error",
        "checkpointed regions share one pair of contexts, and one cache: the recomputation of another region has used up "
        f"what `{found.op.name}` was to read from it",
        "Let `context_fn` make a new pair for each call: `context_fn=lambda: create_selective_checkpoint_contexts(policy)`.",
        analysis.places(
            *((site, "pair of contexts returned from here") for site in _defined(analysis, found)),
            (found.forward, "the region begins here"),
            (found.op, "recomputed here"),
            (found.run, "backward called here"),
        ),
        ("context_fn", found.op.name),
        ops=(found.forward.index, found.op.index),
    )


def _again(analysis: Analysis, found: RecomputedAgain) -> Problem:
    """A second backward runs through it."""
    return Problem(
        "error",
        f"backward() recomputes the region of `{found.forward.name}` a second time, and the cache of selective activation "
        "checkpointing holds its results for one",
        "Add the losses, and call backward() once: `(loss + other).backward()`; or leave `context_fn` out of the checkpoint.",
        analysis.places(
            (found.forward, "the region begins here"),
            (found.earlier, "recomputed by this backward"),
            (found.run, "and again by this one"),
        ),
        ("context_fn", found.forward.name),
        ops=(found.forward.index,),
    )


def _defined(analysis: Analysis, found: RecomputedAgain) -> list[int]:
    """The functions that returned the contexts of the forward: all those that may have been the region's."""
    events = [event for event in analysis.capture.events_of(ContextsGiven) if event.at <= found.forward.index]
    return list(dict.fromkeys(event.site for event in events if event.site >= 0))[-2:]
