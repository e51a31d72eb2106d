"""The hooks that the program registers on modules, and how many of their kind a module has already."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from types import CodeType
from typing import Any

from torch import nn
from torch.nn.parameter import is_lazy
from torch.utils.hooks import RemovableHandle

from autograd_inspector.capture.lines.bytecode import entry_lines, value_returns
from autograd_inspector.capture.lines.callables import code_of, name_of
from autograd_inspector.capture.lines.stacks import USER, classify
from autograd_inspector.capture.module_tree import parameters_of
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around
from autograd_inspector.model.program_events import ModuleHookRegistered

MOST = 64
"""Of a module that has more parameters than these, none are noted."""

METHODS = (
    "register_forward_hook",
    "register_forward_pre_hook",
    "register_full_backward_hook",
    "register_full_backward_pre_hook",
)


class ModuleHooks:
    """Notes each registration."""

    def __init__(self, recording: Recording, guard: Guard, path_of: Callable[[nn.Module], str | None]) -> None:
        self._recording = recording
        self._guard = guard
        self._path_of = path_of
        self._met: dict[tuple[str, int, str, str], int] = {}
        """(method, site, class, path) -> how many the module had at the last registration there."""

    def install(self, into: Installation) -> None:
        """Put the probes in place."""
        for name in METHODS:
            around(into, nn.Module, name, _RegistrationProbe(self, name))

    def registered(self, method: str, module: nn.Module, hook: Any, handle: Any) -> None:
        """A module got a hook."""
        recording = self._recording
        if recording.here() and recording.active():
            self._guard.run(self._note, method, module, hook, handle)

    def _note(self, method: str, module: nn.Module, hook: Any, handle: Any) -> None:
        recording = self._recording
        held = handle.hooks_dict_ref() if type(handle) is RemovableHandle else None
        again = max(sum(_is_alike(each, hook) for each in (held or {}).values()) - 1, 0)
        site, kind, path = recording.stacks.here(1), type(module).__name__, self._path_of(module) or ""
        before = self._met.get((method, site, kind, path), -1)
        self._met[method, site, kind, path] = again
        changed = recording.shared_variables.changed(hook)
        # One that is removed each time is noted once.
        if again or before or changed:
            own = _own_code(method, hook)
            read = own if method == "register_forward_hook" else None
            returns, stores = (
                () if read is None else tuple(dict.fromkeys(recording.stacks.of_code(read, n) for n in lines(read)))
                for lines in (value_returns, entry_lines)
            )
            tensors = () if own is None else self._parameters(module)
            named = (kind, name_of(hook), method, path, again)
            recording.events.append(
                ModuleHookRegistered(len(recording.ops), site, *named, returns, changed, stores, tensors)
            )

    def _parameters(self, module: nn.Module) -> tuple[int, ...]:
        """The parameters of a module that are few, without those that a first call is yet to make."""
        found = tuple(islice(parameters_of(module), MOST + 1))
        if len(found) > MOST or any(is_lazy(parameter) for parameter in found):
            return ()
        return tuple(self._recording.id_of(parameter) for parameter in found)


class _RegistrationProbe:
    """In a method that registers a hook: what was registered on which module, and what came back."""

    def __init__(self, hooks: ModuleHooks, method: str) -> None:
        self._hooks = hooks
        self._method = method

    def before(self, seen: list[Any], module: nn.Module, /, *args: Any, **kwargs: Any) -> None:
        seen += (module, args[0] if args else kwargs.get("hook"))

    def after(self, seen: list[Any], result: Any, /) -> Any:
        if seen:
            module, hook = seen
            seen[:] = ()
            self._hooks.registered(self._method, module, hook, result)
        return result

    def failed(self, seen: list[Any], _error: BaseException, /) -> None:
        seen[:] = ()


def _own_code(method: str, hook: Any) -> CodeType | None:
    """The code of a hook on a forward, where the program wrote it."""
    code = code_of(hook) if "backward" not in method else None
    return code if code is not None and classify(code.co_filename) == USER else None


def _is_alike(one: Any, other: Any) -> bool:
    """Whether two hooks come from one place of the program, whatever values they were made of."""
    code = code_of(other)
    return one is other if code is None else code_of(one) is code
