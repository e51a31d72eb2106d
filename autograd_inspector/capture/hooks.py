"""Hooks on the gradients of tensors: those that are registered, and those that a leaf had before the capture began."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from torch import Tensor

from autograd_inspector.capture.stacks import USER, classify
from autograd_inspector.capture.tape import Tape
from autograd_inspector.model.event import TensorHook

if TYPE_CHECKING:
    from autograd_inspector.capture.ops import Recorder


def registered(recorder: Recorder, args: tuple[Any, ...], _: Any) -> None:
    """``tensor.register_hook(hook)``."""
    _registered(recorder.tape, args, post=False)


def registered_post(recorder: Recorder, args: tuple[Any, ...], _: Any) -> None:
    """``tensor.register_post_accumulate_grad_hook(hook)``."""
    _registered(recorder.tape, args, post=True)


def _registered(tape: Tape, args: tuple[Any, ...], *, post: bool) -> None:
    name = _name(args[1]) if len(args) > 1 else ""
    tape.tensor_hooks.append(TensorHook(len(tape.ops), tape.id_of(args[0]), tape.stacks.here(1), name, post))


def older_hooks(tape: Tape, leaves: Iterable[tuple[int, Tensor]]) -> None:
    """Note the program's own hooks on leaves that were registered out of sight. They are looked at, never called."""
    known = {hook.tensor for hook in tape.tensor_hooks}
    for number, leaf in leaves:
        if number in known:
            continue
        for attribute, post in (("_backward_hooks", False), ("_post_accumulate_grad_hooks", True)):
            for hook in (getattr(leaf, attribute, None) or {}).values():
                code = getattr(hook, "__code__", None)
                if code is not None and classify(code.co_filename) == USER:
                    site = tape.stacks.of_code(code)
                    tape.tensor_hooks.append(TensorHook(0, number, site, _name(hook), post, older=True))


def _name(hook: Any) -> str:
    return str(getattr(hook, "__qualname__", type(hook).__name__))
