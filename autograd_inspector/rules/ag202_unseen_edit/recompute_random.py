"""AG202 under checkpointing: the recomputation draws other random numbers than the forward did."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of, where_made
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.draws import draws
from autograd_inspector.analysis.unseen_edits.recomputed_forwards import Key, key_of, keys_of
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import RandomStateDropped
from autograd_inspector.model.remedy import SetArgument
from autograd_inspector.model.wording import join_names, summarize_names


def drawn_again(analysis: Analysis) -> Iterator[Problem]:
    """Random ops that ran under ``checkpoint(preserve_rng_state=False)``, and again in backward."""
    told: set[tuple[str, int]] = set()
    for event in analysis.capture.events_of(RandomStateDropped):
        place = analysis.capture.place(event.site)
        if place is None or place.line in told:
            continue
        told.add(place.line)
        forward: dict[Key, Op] = {}
        learning: dict[int, None] = {}
        again: dict[str, tuple[Op, Op]] = {}
        for op in analysis.capture.ops:
            read = [] if op.has(Trait.BACKWARD) else [t for t in op.inputs if t in analysis.capture.optimized]
            if read and any(frame.line == place.line for frame in analysis.capture.site(op.site)):
                learning |= dict.fromkeys(read)
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
            yield _finding(analysis, event, again, names_of(analysis, learning))


def _finding(
    analysis: Analysis, event: RandomStateDropped, again: dict[str, tuple[Op, Op]], names: list[str]
) -> Problem:
    first = next(iter(again.values()))[0]
    of = f" of {summarize_names(names)}" if names else ""
    return Problem(
        "error",
        f"checkpoint(preserve_rng_state=False) recomputes {join_names(again, 3)} in backward with different random numbers: "
        f"the gradients{of} belong to a different output and are silently wrong",
        "Leave preserve_rng_state at True, its default, for functions that draw random numbers.",
        analysis.places((event, "checkpointed here"), (first, "random numbers drawn here")),
        (*again, *names),
        ("The random op ran in the forward, and once more in backward; the state of the generator was not kept.",),
        tuple(op.index for _, op in again.values()),
        tuple(
            (SetArgument(place, "checkpoint", "preserve_rng_state", ""),)
            for place in analysis.user_frames(event.site, "")[:1]
        ),
    )
