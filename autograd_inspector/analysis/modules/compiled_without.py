"""Forward hooks that a module got when a graph of it was compiled already: the graph goes on without them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import ModuleCall
from autograd_inspector.model.program_events import CompiledCalled, ModuleHookRegistered


class CompiledWithout(Struct, frozen=True):
    """``hook`` was registered between two calls of the same compiled code, in which its module runs."""

    hook: ModuleHookRegistered
    before: CompiledCalled
    after: CompiledCalled


def compiled_without(analysis: Analysis) -> Iterator[CompiledWithout]:
    """Those that return something in place of the module's output and that no op was seen to run in.

    Code that was compiled again in between has the hook in it; a break of the graph leaves the module to Python, which
    runs its hooks.
    """
    capture = analysis.capture
    calls = [event for event in capture.events_of(CompiledCalled) if not event.breaks]
    for hook in capture.events_of(ModuleHookRegistered) if calls else ():
        if not hook.returns or not hook.path or _ran(capture, hook):
            continue
        before = {event.function: event for event in calls if event.at < hook.at}
        for after in calls:
            earlier = before.get(after.function) if after.at >= hook.at else None
            if earlier is not None and (earlier.graphs, earlier.again) == (after.graphs, after.again):
                roots = _roots(capture, hook, earlier)
                if roots and roots == _roots(capture, hook, after):
                    yield CompiledWithout(hook, earlier, after)
                    break


def _ran(capture: Capture, hook: ModuleHookRegistered) -> bool:
    return any(
        frame.function == hook.hook for op in capture.ops[hook.at :] for frame in capture.site(op.site) if op.site >= 0
    )


def _roots(capture: Capture, hook: ModuleHookRegistered, event: CompiledCalled) -> set[int]:
    """The models in which the module of the hook ran within a compiled call."""

    def hooked(call: ModuleCall) -> bool:
        return (call.path, call.type) == (hook.path, hook.type) and event.at <= call.at < event.until

    return {call.root for call in capture.calls if hooked(call)}
