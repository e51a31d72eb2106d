"""Forward hooks that never run: what their module computes is computed without a call of the module.

``module.forward(x)``, a loop over the children of a container, and a function that is given the weights all do so.
Only a call of the module runs its hooks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from itertools import islice, takewhile

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.modules.call_ops import ops_within
from autograd_inspector.analysis.modules.places import LastPlaces, Place
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.parameters.unoptimized import path_in_model
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import ModuleCall, Op, Trait
from autograd_inspector.model.program_events import CompiledCalled, ModuleHookRegistered

_LAYERS = OpKind.ADDS_BIAS | OpKind.CONVOLVES | OpKind.KEEPS_STATISTICS
"""Functions that compute all of a module of torch, and are given its weight and its bias."""


class PassedBy(Struct, frozen=True):
    """``hook`` is on the module ``path``, which was not called: ``ran`` computed what the module is there for."""

    hook: ModuleHookRegistered
    path: str
    ran: Op


def passed_by(analysis: Analysis) -> Iterator[PassedBy]:
    """The first hook of each line, where none that was registered there runs."""
    capture = analysis.capture
    if capture.history.folded:
        return
    by_line: dict[object, list[ModuleHookRegistered]] = {}
    for hook in capture.events_of(ModuleHookRegistered):
        if not hook.backward:
            by_line.setdefault((line_of(analysis, hook.site), hook.hook, hook.method), []).append(hook)
    calls = _Calls(capture)
    for hooks in by_line.values():
        found = [each for each in takewhile(bool, (_found(capture, calls, hook) for hook in hooks)) if each is not None]
        if len(found) == len(hooks):
            yield found[0]


class _Calls:
    """The calls of each module, under the last place that it had."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture

    @cached_property
    def _of(self) -> dict[Place, list[ModuleCall]]:
        places, of = LastPlaces(self._capture), dict[Place, list[ModuleCall]]()
        for call in self._capture.calls:
            of.setdefault(places.of(call.root, call.path), []).append(call)
        return of

    def since(self, place: Place, at: int) -> Iterator[ModuleCall]:
        """Those from op ``at`` on, in program order."""
        calls = self._of.get(place, [])
        return islice(calls, bisect_left(calls, at, key=lambda call: call.at), None)


def _found(capture: Capture, calls: _Calls, hook: ModuleHookRegistered) -> PassedBy | None:
    paths = _paths(capture, hook)
    if not paths or any(event.until > hook.at for event in capture.events_of(CompiledCalled)):
        return None
    root = capture.owners[hook.tensors[0]]
    if any(call.type == hook.type for path in paths for call in calls.since((root, path), hook.at)):
        return None
    path = min(paths, key=len)
    ran = _function(capture, hook) or _children(capture, calls, hook, path)
    full, local = capture.tensors[hook.tensors[0]].names[0], path_in_model(capture, hook.tensors[0])
    return None if ran is None else PassedBy(hook, full.removesuffix(local) + path, ran)


def _paths(capture: Capture, hook: ModuleHookRegistered) -> set[str]:
    """Where the module may stand: each place of its model that has these parameters, all of them and no other."""
    records = [capture.tensors[tensor] for tensor in hook.tensors]
    roots = {capture.owners.get(tensor) for tensor in hook.tensors}
    if len(roots) != 1 or None in roots or any(len(record.names) != 1 for record in records):
        return set()  # A tied parameter is read in the calls of other modules.
    names = {path_in_model(capture, tensor) for tensor in hook.tensors}
    others = {path_in_model(capture, tensor) for tensor, root in capture.owners.items() if root in roots} - names
    parts = min(names, key=len).split(".")[:-1]
    paths = {".".join(parts[:length]) for length in range(1, len(parts) + 1)}
    return {path for path in paths if _has(path, names) == names and not _has(path, others)}


def _has(path: str, names: set[str]) -> set[str]:
    return {name for name in names if name.startswith(f"{path}.")}


def _function(capture: Capture, hook: ModuleHookRegistered) -> Op | None:
    """The first call of a layer's function that is given all parameters of the module, where no such module is called."""
    own, readers = set(hook.tensors), capture.readers.get(hook.tensors[0], ())
    for op in (capture.ops[at] for at in islice(readers, bisect_left(readers, hook.at), None)):
        if is_a(op.name, _LAYERS) and own <= set(op.inputs) and not op.has(Trait.BACKWARD):
            return None if _is_in(capture, op.call, hook) else op
    return None


def _children(capture: Capture, calls: _Calls, hook: ModuleHookRegistered, path: str) -> Op | None:
    """The first op of the first call of a child, where one other module calls all of those that have parameters."""
    root = capture.owners[hook.tensors[0]]
    inside = (path_in_model(capture, tensor)[len(path) + 1 :] for tensor in hook.tensors)
    children = {f"{path}.{name.split('.')[0]}" for name in inside if "." in name}
    met: dict[int, dict[str, ModuleCall]] = {}
    for child in children:
        for call in calls.since((root, child), hook.at):
            if not _is_in(capture, call.parent, hook):
                met.setdefault(call.parent, {}).setdefault(child, call)
    first = (min(each.values(), key=_number) for each in met.values() if each.keys() == children)
    earliest = min(first, key=_number, default=None)
    return None if earliest is None else next(ops_within(capture, earliest), None)


def _number(call: ModuleCall) -> int:
    return call.id


def _is_in(capture: Capture, call: int, hook: ModuleHookRegistered) -> bool:
    """Whether that call is one of a module of the hook's class, which may have another name by now."""
    return call >= 0 and capture.calls[call].type == hook.type
