"""Torch-function modes, and the other modes that a call may run in."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from functools import partial
from importlib import import_module
from typing import Any

import torch

from autograd_inspector.capture.torch_private.resolving import (
    MISSING,
    Place,
    attribute,
    find,
    looked_up,
    private,
    spare,
)

_OWN = "every torch call is recorded by a torch-function mode, which leaves the program's own where they are"
_UNSEEN = "the program's own modes and tensor subclasses do not see what the inspector reads"

push_mode = private("torch._C:_push_on_torch_function_stack", _OWN, instead=spare("torch.overrides:_push_mode", _OWN))
pop_mode = private("torch._C:_pop_torch_function_stack", _OWN, instead=spare("torch.overrides:_pop_mode", _OWN))


_mode_stack = spare("torch.overrides:_get_current_function_mode_stack", _OWN)


def _or_listed(path: str, listed: Callable[..., Any]) -> Any:
    """The function that torch.overrides has; it looks its own up by this name, which a capture stands in for."""
    function = find(path)
    return function if function is not MISSING or _mode_stack is MISSING else listed


mode_depth = private(
    "torch._C:_len_torch_function_stack",
    _OWN,
    instead=_or_listed("torch.overrides:_len_torch_function_stack", lambda: len(_mode_stack())),
)
mode_at = private(
    "torch._C:_get_function_stack_at",
    _OWN,
    instead=_or_listed("torch.overrides:_get_function_stack_at", lambda place: _mode_stack()[place]),
)


def function_modes() -> list[Any]:
    """The modes of this thread, ours among them, the innermost last."""
    return [mode_at(place) for place in range(mode_depth())]


def is_on(mode: object) -> bool:
    """Whether a mode is on this thread's stack."""
    return any(each is mode for each in function_modes())


_SEEN = "the program does not find the recorder among its own modes"
_FOUND = "a program that lists its modes finds the recorder among them"
SEEN_DEPTH = Place("torch.overrides:_len_torch_function_stack", _SEEN, without=_FOUND)
SEEN_AT = Place("torch.overrides:_get_function_stack_at", _SEEN, without=_FOUND)
with suppress(ImportError):  # Torch imports it when a default device is first set, which may be inside a block.
    import_module("torch.utils._device")
_BELOW_ALL = "a default device that is set inside another mode finds the stack as torch left it"
_REFUSED = "torch may refuse to set a default device inside backward"
DEVICE_ENTERED = Place("torch.utils._device:DeviceContext.__enter__", _BELOW_ALL, without=_REFUSED)
DEVICE_LEFT = Place("torch.utils._device:DeviceContext.__exit__", _BELOW_ALL, without=_REFUSED)
STEP_LEFT = Place(
    "torch.autograd.profiler:record_function.__exit__", "the recorder is off inside an optimizer's step", without=""
)
_device_mode = looked_up("torch.utils._device:DeviceContext", "a default device lies beneath the recorder")


def is_default_device(mode: object) -> bool:
    """``set_default_device`` enters its mode; ``with torch.device()`` puts one on top, and takes off what is on top."""
    kind = _device_mode()
    return isinstance(kind, type) and isinstance(mode, kind) and hasattr(mode, "old_device")


DisableTorchFunction = private("torch._C:DisableTorchFunction", _UNSEEN)
EnableTorchFunction = private("torch._C:_EnableTorchFunction", _UNSEEN)
subclasses_enabled = private("torch._C:_is_torch_function_enabled", _UNSEEN)
all_disabled = private("torch._C:_is_torch_function_all_disabled", _UNSEEN)


def _has_tracer() -> Any:
    state = spare("torch._C:_get_tracing_state", "stands in for _is_tracing")
    return MISSING if state is MISSING else lambda: state() is not None


is_tracing = private("torch._C:_is_tracing", "what torch.jit traces is left alone", instead=_has_tracer())

_AUTOCAST_DEVICES = ("cpu", "cuda", "xpu", "mps", "hpu", "mtia", "privateuseone")


def _autocast_somewhere() -> bool:
    return any(map(torch.is_autocast_enabled, _AUTOCAST_DEVICES))


any_autocast = private(
    "torch._C:_is_any_autocast_enabled", "which ops autocast may have cast", instead=_autocast_somewhere
)


_BELOW = "which calls run below autograd, inside a kernel that is written in Python"


def _excluded_keys() -> Any:
    keys = spare("torch._C:_dispatch_tls_local_exclude_set", _BELOW)
    return None if keys is MISSING else lambda key: keys().has(key)


_excluded = private(
    "torch._C:_dispatch_tls_is_dispatch_key_excluded",
    _BELOW,
    instead=_excluded_keys(),
)
_key = private(
    "torch._C:DispatchKey.AutogradFunctionality",
    _BELOW,
    instead=None,
    without="calls that a kernel written in Python makes in backward are recorded as the program's calls",
)
below_autograd = partial(_excluded, _key) if _excluded is not None and _key is not None else lambda: False

set_grad_enabled = private(
    "torch._C:_set_grad_enabled",
    "which line switched the grad mode",
    instead=None,
    without="the lines that switch the grad mode are not known",
)

_dispatch_modes = private(
    "torch._C:_len_torch_dispatch_stack", "whether the program has dispatch modes on", instead=lambda: 1
)
_no_dispatch_modes = private(
    "torch.utils._python_dispatch:_disable_current_modes",
    "the program's dispatch modes do not see compiled graphs being run again",
    instead=nullcontext,
)


def without_dispatch_modes() -> Any:
    """A context in which the program's own dispatch modes are off."""
    return _no_dispatch_modes() if _dispatch_modes() else nullcontext()


def has_dispatch_modes() -> bool:
    """Whether the program has dispatch modes on, as far as can be told."""
    return bool(_dispatch_modes())


_kernel_of = private(
    "torch._C:_dispatch_has_kernel_for_dispatch_key", "which ops move no version counter", instead=lambda *_: True
)


def moves_no_counter(op: str) -> bool:
    """Whether an op that writes has no kernel that moves version counters, so that the op itself has to."""
    return not _kernel_of(op, "ADInplaceOrView")


_MOVED = "version counters in a compiled graph that is run again move as they do with data"
DispatchMode = private("torch.utils._python_dispatch:TorchDispatchMode", _MOVED, instead=nullcontext)
_schema = attribute("torch._ops:OpOverload.__init__._schema", _MOVED)


def written_arguments(op: Any) -> tuple[str, list[bool]]:
    """The name of a dispatched op, and which of its arguments it writes."""
    schema = _schema(op)
    return ("", []) if schema is None else (schema.name, [each.is_write for each in schema.arguments])
