"""AG306 where torch refuses what a hook returned in place of a gradient."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.names import short_name
from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.event import TensorHook
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import HookRefused, ModuleHookRegistered
from autograd_inspector.model.wording import summarize_names

_POST = "register_post_accumulate_grad_hook"


def refused_results(analysis: Analysis) -> Iterator[Problem]:
    """The hook, what it returned, and where it was registered: one finding for each that ended a backward."""
    for event in analysis.capture.events_of(HookRefused):
        hooks = _registered(analysis, event)
        names = names_of(analysis, dict.fromkeys(event.tensors))
        name = f"the hook {short_name(event.name)}" if event.name else "a hook"
        of = f" of {summarize_names(names)}" if names else f" of a {event.type}" if event.type else " of a node"
        here = event.site == analysis.capture.backwards[event.run].site
        yield Problem(
            "error",
            f"{name}{of} returned {_what(event)}",
            _fix(event),
            analysis.places(
                (event, "backward called here" if here else "returned by the hook here"),
                *((hook, "hook defined here" if _older(hook) else "hook registered here") for hook in hooks[:2]),
                (None if here else analysis.capture.backwards[event.run].site, "backward failed here"),
            ),
            (*names, short_name(event.name)),
        )


def _registered(analysis: Analysis, event: HookRefused) -> list[TensorHook | ModuleHookRegistered]:
    """The last registration of each place."""
    hooks: list[TensorHook | ModuleHookRegistered] = [
        hook
        for hook in analysis.capture.tensor_hooks
        if hook.tensor in event.tensors and event.name in {hook.name, ""} and hook.post == (event.method == _POST)
    ]
    if event.type:
        registered = analysis.capture.events_of(ModuleHookRegistered)
        hooks += [each for each in registered if (each.type, each.hook) == (event.type, event.name)]
    return list({hook.site: hook for hook in hooks}.values())


def _older(hook: TensorHook | ModuleHookRegistered) -> bool:
    return isinstance(hook, TensorHook) and hook.older


def _what(event: HookRefused) -> str:
    if event.method == _POST:
        return "a value: a hook that runs after the gradient was accumulated has to return None"
    place = "the gradient" if event.tensors else "the tuple of gradients"
    if event.given and event.returned:
        return f"{event.returned} instead of a gradient of {event.given}"
    if event.returned:
        return f"{event.returned} instead of {place}"
    return f"what does not fit {place} that it was given"


def _fix(event: HookRefused) -> str:
    if event.method == _POST:
        return "Return None from the hook: what it writes to `.grad` of its tensor stays there."
    if not event.tensors:
        return "Return a tuple with a gradient for each one that the hook was given, or None to leave them as they are."
    return (
        "Return a tensor that is computed from the gradient, with its shape, dtype and device, or None to leave the "
        "gradient as it is."
    )
