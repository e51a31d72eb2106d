"""Hooks made in a loop that look up the loop's variable when they run: all of them find its last value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograd_inspector.advice.names import short_name
from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.modules.late_hooks import late_hooks
from autograd_inspector.model.event import TensorHook
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import ModuleHookRegistered
from autograd_inspector.model.remedy import BindNow
from autograd_inspector.model.wording import agree, join_names, summarize_names

_TWO = 2
_BACKWARD, _FORWARD = "module, grad_input, grad_output", "module, args, output"


def with_the_last_value(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that registers hooks like that."""
    by_line: dict[tuple[tuple[str, int] | None, str], list[TensorHook]] = {}
    for hook in analysis.capture.tensor_hooks:
        if not hook.older:
            by_line.setdefault((line_of(analysis, hook.site), hook.name), []).append(hook)
    for hooks in by_line.values():
        group = _group(analysis, hooks)
        if len(group) > 1:
            yield _problem(analysis, group, names_of(analysis, [hook.tensor for hook in group]), "grad")
    for hooks_of_modules in late_hooks(analysis):
        modules = [hook.path or hook.type for hook in hooks_of_modules]
        yield _problem(analysis, hooks_of_modules, modules, _given(hooks_of_modules[0]))


def _given(hook: ModuleHookRegistered) -> str:
    """What a hook of that kind is called with."""
    given = _BACKWARD if hook.backward else _FORWARD
    return given.rpartition(", ")[0] if "pre_hook" in hook.method and not hook.backward else given


def _group(analysis: Analysis, hooks: list[TensorHook]) -> list[TensorHook]:
    """The first run of hooks that were registered one after the other before any backward, on different tensors.

    Where a backward runs between two of them, the first is done with the value that it had.
    """
    group, tensors = hooks[:1], {hooks[0].tensor}
    for hook in hooks[1:]:
        apart = analysis.timeline.runs.places(group[-1].at, hook.at)
        if hook.changed and not apart and hook.tensor not in tensors:
            group.append(hook)
            tensors.add(hook.tensor)
        elif len(group) > 1 and _runs(analysis, group):
            break
        else:
            group, tensors = [hook], {hook.tensor}
    return group if len(group) > 1 and _runs(analysis, group) else []


def _runs(analysis: Analysis, group: list[TensorHook]) -> bool:
    """Whether a backward came after the last of them was registered."""
    return next(analysis.timeline.runs.since(group[-1].at), None) is not None


def _problem(
    analysis: Analysis, group: Sequence[TensorHook] | Sequence[ModuleHookRegistered], names: list[str], given: str
) -> Problem:
    """``names``: what the hooks are on, ``given``: what a hook is called with."""
    changed = list(dict.fromkeys(name for hook in group for name in hook.changed))
    variables = join_names([f"`{name}`" for name in changed])
    first, hook = changed[0], group[0]
    name = short_name(hook.name if isinstance(hook, TensorHook) else hook.hook)
    return Problem(
        "warning",
        f"the hooks {name} of {summarize_names(names)} look up {variables} when they run, and find the value that "
        f"{agree(changed, 'it', 'they')} had last: {'both' if len(group) == _TWO else f'all {len(group)}'} hooks behave like the last one of the loop",
        f"Bind the value when the hook is made: `lambda {given}, {first}={first}: ...`, or create the hook in a function that takes {variables}.",
        analysis.user_frames(hook.site, "hooks registered here"),
        (*dict.fromkeys(names), name, *changed),
        cures=at_line(analysis, hook.site, lambda place: BindNow(place, tuple(changed))),
    )
