"""AG204: the state that a rollout began with, kept without a copy, when the update computes the rollout again."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.replayed_states import replayed_states
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.wording import agree, join_names


def replayed(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that computes again."""
    for found in replayed_states(analysis):
        made = [place for tensor in found.states if (place := _made(analysis, tensor)) is not None]
        targets = dict.fromkeys(place.target for place in made)
        # Several tensors that one statement makes are a tuple, which a loop has given other names since.
        whole = len(made) > 1 and len(targets) == 1
        names = [*targets] if whole and all(targets) else [*dict.fromkeys(name_of(analysis, t) for t in found.states)]
        yield Problem(
            "warning",
            f"`{found.replay.name}` computes a sample again for its gradient, from the state in {join_names(names, 3)}: the first "
            f"time {agree(names, 'it', 'they')} held the state before that sample, and `{found.written.name}` has written the "
            f"states of later samples into {agree(names, 'it', 'them')} since then",
            "Copy the initial state before the samples are computed for the first time, with `.clone()` of each tensor, or keep each new "
            "state as a new tensor instead of writing it into the old one.",
            analysis.places(
                (found.written, "overwritten here"),
                (found.first, "computed for the first time here"),
                (found.replay, "computed again here"),
            ),
            tuple(names),
            ops=(found.replay.index,),
        )


def _made(analysis: Analysis, tensor: int) -> Location | None:
    birth = analysis.flow.birth(tensor)
    return None if birth is None else analysis.capture.place(birth.site)
