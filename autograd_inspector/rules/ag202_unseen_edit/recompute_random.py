"""AG202 under checkpointing: the recomputation draws other random numbers than the forward did."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import where_made
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.draws import draws
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import RandomStateDropped
from autograd_inspector.model.remedy import SetArgument
from autograd_inspector.model.wording import join_names
from autograd_inspector.rules.ag202_unseen_edit.recomputed_forwards import Key, key_of, keys_of


def drawn_again(analysis: Analysis) -> Iterator[Problem]:
    """Random ops that ran under ``checkpoint(preserve_rng_state=False)``, and again in backward."""
    for event in analysis.capture.events_of(RandomStateDropped):
        place = analysis.capture.place(event.site)
        if place is None:
            continue
        forward: dict[Key, Op] = {}
        again: dict[str, tuple[Op, Op]] = {}
        for op in analysis.capture.ops:
            if not draws(op):
                continue
            if not op.has(Trait.BACKWARD):
                frames = analysis.capture.site(op.site)
                if any(frame.line == place.line for frame in frames):
                    forward |= dict.fromkeys(keys_of(analysis, op), op)
            elif key_of(analysis, op) in forward:
                first = forward[key_of(analysis, op)]
                again.setdefault(where_made(analysis, first), (first, op))
        if again:
            yield _finding(analysis, event, again)


def _finding(analysis: Analysis, event: RandomStateDropped, again: dict[str, tuple[Op, Op]]) -> Problem:
    first = next(iter(again.values()))[0]
    return Problem(
        "error",
        f"checkpoint(preserve_rng_state=False) recomputes {join_names(again, 3)} in backward with different random numbers: the gradients belong to a different output and are silently wrong",
        "Leave preserve_rng_state at True, its default, for functions that draw random numbers.",
        analysis.places((event, "checkpointed here"), (first, "random numbers drawn here")),
        tuple(again),
        ("The random op ran in the forward, and once more in backward; the state of the generator was not kept.",),
        tuple(op.index for _, op in again.values()),
        tuple(
            (SetArgument(place, "checkpoint", "preserve_rng_state", ""),)
            for place in analysis.user_frames(event.site, "")[:1]
        ),
    )
