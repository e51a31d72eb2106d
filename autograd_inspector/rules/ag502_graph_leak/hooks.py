"""Hooks that a step registers on modules and nobody removes: each runs in every later call, with what it holds."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

from autograd_inspector.advice.names import short_name
from autograd_inspector.advice.remedies.left_out import made_once
from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.earlier_graphs.links import Line
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import ModuleHookRegistered
from autograd_inspector.model.wording import agree, summarize_names

_ROUNDS = 3
"""In so many rounds there were more than in the round before: those of two may be set-up and training."""


def piling_hooks(analysis: Analysis) -> Iterator[Problem]:
    """A line that adds to the hooks of a module in each round."""
    hooks_by_line: dict[tuple[Line | None, str], dict[str, list[ModuleHookRegistered]]] = {}
    for event in analysis.capture.events_of(ModuleHookRegistered):
        module = f"{event.path} ({event.type})" if event.path else event.type
        hooks_by_line.setdefault((line_of(analysis, event.site), event.method), {}).setdefault(module, []).append(event)
    for (_, method), hooks_by_module in hooks_by_line.items():
        piles = {module: hooks for module, hooks in hooks_by_module.items() if _grows(analysis, hooks)}
        if piles:
            last = max((hooks[-1] for hooks in piles.values()), key=lambda hook: hook.again)
            name = short_name(last.hook)
            yield Problem(
                "warning",
                f"`{method}` is called in each step and its hooks are not removed: {summarize_names(piles)} now "
                f"{agree(piles, 'has', 'have')} {last.again + 1} of {name}, which all run in each call and keep their "
                "references alive",
                f"Register the hook once, before the loop; or keep the handle that `{method}` returns and call its `remove()` "
                "after the forward.",
                analysis.user_frames(last.site, "registered again here"),
                (*piles, name),
                cures=tuple(made_once(analysis, last.site)),
            )


def _grows(analysis: Analysis, hooks: list[ModuleHookRegistered]) -> bool:
    """Whether each round found more of them than the round before."""
    ends, folded = analysis.rounds.ends, analysis.capture.history.folded
    most: dict[int, int] = {}
    for hook in hooks:
        number = bisect_right(ends, hook.at)
        most[number] = max(most.get(number, 0), hook.again)
    counts = [most[number] for number in sorted(most)]
    rising = all(one < other for one, other in pairwise(counts))
    # Of folded steps the first and the last hook are kept, and count with the first step that is not folded.
    return rising and (
        len(counts) >= _ROUNDS or (folded > 0 and len(counts) == _ROUNDS - 1 and counts[-1] > len(hooks))
    )
