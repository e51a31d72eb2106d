"""Hooks on modules that a loop makes, and that look up the loop's variable when they run."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.model.program_events import ModuleHookRegistered

Hooks = list[ModuleHookRegistered]


def late_hooks(analysis: Analysis) -> Iterator[Hooks]:
    """For each line the hooks that were registered one after the other on different modules, and that run afterwards.

    Where a module is called between two of them, the first may be done with the value that it had.
    """
    for hooks in grouped(
        analysis.capture.events_of(ModuleHookRegistered),
        lambda hook: (line_of(analysis, hook.site), hook.hook, hook.method),
    ).values():
        group = _group(analysis, hooks)
        if len(group) > 1 and _run(analysis, group):
            yield group


def _group(analysis: Analysis, hooks: Hooks) -> Hooks:
    """The first run of them without a call in between; a module that has such a hook already ends it."""
    group = hooks[:1]
    for hook in hooks[1:]:
        if hook.changed and not hook.again and not _called(analysis, group[-1].at, hook.at):
            group.append(hook)
        elif len(group) > 1:
            break
        else:
            group = [hook]
    return group


def _run(analysis: Analysis, group: Hooks) -> bool:
    """Whether modules of their classes were called after the last of them was registered."""
    called = {call.type for call in analysis.capture.calls if call.at >= group[-1].at}
    return all(hook.type in called for hook in group)


def _called(analysis: Analysis, since: int, until: int) -> bool:
    """Whether a module was called in between."""
    return any(since <= call.at < until for call in analysis.capture.calls)
