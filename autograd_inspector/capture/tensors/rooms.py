"""Where a tensor can be read without any code of the program's running: that depends on its class."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any
from weakref import WeakKeyDictionary

from torch import Tensor
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

from autograd_inspector.capture.lines.attributes import looked_up
from autograd_inspector.capture.lines.stacks import SKIP, classify
from autograd_inspector.capture.torch_private.dispatch import openly, refusing, straight_to_kernels

Room = Callable[[Callable[[Any], Any], Tensor], Any]
"""What reads something of a tensor there."""

_LAZY = (UninitializedParameter, UninitializedBuffer)
_HOOK = "__torch_dispatch__"
_BOUND = (classmethod, staticmethod, MethodType)
_NONE = vars(Tensor).get(_HOOK)
_KNOWN: WeakKeyDictionary[type, Room] = WeakKeyDictionary()


def room_of(kind: type) -> Room:
    """Where the sizes, the strides or the device of a tensor of that class are to be read."""
    room = _KNOWN.get(kind)
    if room is None:
        room = _KNOWN[kind] = _empty if issubclass(kind, _LAZY) else _of_hook(dispatch_of(kind))
    return room


def dispatch_of(kind: type) -> object:
    """The ``__torch_dispatch__`` of a class that is not torch's own default, None where there is none."""
    handler: object = looked_up(kind, _HOOK)
    return None if handler is _NONE else handler


def is_torchs(hook: object) -> bool:
    """Whether torch wrote it: for fake, jagged, distributed tensors and the like. It may run for us."""
    written: Any = hook.__func__ if isinstance(hook, _BOUND) else hook
    return type(written) is FunctionType and classify(written.__code__.co_filename) == SKIP


def _of_hook(hook: object) -> Room:
    if hook is None:
        return openly
    return straight_to_kernels if is_torchs(hook) else refusing


def _empty(_read: Callable[[Any], Any], _tensor: Tensor) -> Any:
    """A lazy parameter has neither sizes nor memory before its first forward."""
    raise LookupError("nothing to read")
