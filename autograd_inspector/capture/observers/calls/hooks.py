"""Hooks on the gradients of tensors: those that are registered, and those that a leaf had before the capture began."""

from __future__ import annotations

from collections.abc import Iterable
from types import CodeType, FunctionType, MethodType
from typing import Any

from torch import Tensor

from autograd_inspector.capture.lines.callables import code_of, held_by, name_of
from autograd_inspector.capture.lines.kinds import Kinds
from autograd_inspector.capture.lines.stacks import USER, classify
from autograd_inspector.capture.observers.calls.calling import Calling
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.own_cycles import holds_own_graph
from autograd_inspector.capture.torch_private.tensors import gradient_hooks, post_accumulate_hooks
from autograd_inspector.model.event import TensorHook


def registered(recorder: Calling, args: tuple[Any, ...], _: Any) -> None:
    """``tensor.register_hook(hook)``."""
    _registered(recorder.recording, args, post=False)


def registered_post(recorder: Calling, args: tuple[Any, ...], _: Any) -> None:
    """``tensor.register_post_accumulate_grad_hook(hook)``."""
    _registered(recorder.recording, args, post=True)


def _registered(recording: Recording, args: tuple[Any, ...], *, post: bool) -> None:
    name, again, cycle = "", 0, False
    changed: tuple[str, ...] = ()
    if len(args) > 1:
        held = post_accumulate_hooks if post else gradient_hooks
        there = list((held(args[0]) or {}).values())
        name, again = name_of(args[1]), sum(_alike(hook, args[1]) for hook in there) - 1
        cycle = not post and holds_own_graph(args[1], args[0])
        changed = recording.shared_variables.changed(args[1])
    number, site = recording.id_of(args[0]), recording.stacks.here(1)
    run = -1 if recording.running else len(recording.backwards) - 1
    recording.tensor_hooks.append(
        TensorHook(
            len(recording.ops), number, site, name, post, again=max(again, 0), changed=changed, run=run, cycle=cycle
        )
    )
    recording.hooked.add(number)
    if len(args) > 1:
        _of_program(recording, args[1])


def _of_program(recording: Recording, hook: Any) -> CodeType | None:
    """The code of a hook, which is kept, where the program's own file defines it."""
    code = code_of(hook)
    if code is None or classify(code.co_filename) != USER:
        return None
    recording.hook_codes[code] = name_of(hook)
    return code


def older_hooks(recording: Recording, leaves: Iterable[tuple[int, Tensor]]) -> None:
    """Note the program's own hooks on leaves that were registered out of sight. They are looked at, never called."""
    for number, leaf in leaves:
        if number in recording.hooked:
            continue
        for held, post in ((gradient_hooks, False), (post_accumulate_hooks, True)):
            for hook in (held(leaf) or {}).values():
                code = _of_program(recording, hook)
                if code is not None:
                    site = recording.stacks.of_code(code)
                    recording.tensor_hooks.append(TensorHook(0, number, site, name_of(hook), post, older=True))
                    recording.hooked.add(number)


def registers(recording: Recording, tensor: Tensor, code: CodeType, *, post: bool) -> None:
    """Compiled code is about to register a hook with that code, at a line that is not known: its own line stands in."""
    number = recording.id_of(tensor)
    there = (post_accumulate_hooks if post else gradient_hooks)(tensor) or {}
    again = sum(code_of(hook) is code for hook in there.values())
    site = recording.stacks.of_code(code)
    recording.tensor_hooks.append(TensorHook(len(recording.ops), number, site, code.co_qualname, post, again=again))
    recording.hooked.add(number)
    if classify(code.co_filename) == USER:
        recording.hook_codes[code] = code.co_qualname


def _alike(one: Any, other: Any) -> bool:
    """Whether two hooks do the same: one function, or two made at one place of the same values."""
    if type(one) is type(other) is MethodType:
        return one.__self__ is other.__self__ and one.__func__ is other.__func__
    if type(one) is type(other) is FunctionType and one.__code__ is other.__code__:
        return all(map(_equal, held_by(one), held_by(other)))
    return one is other


def _equal(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and type(one) in _PLAIN and bool(one == other))


_PLAIN = Kinds(bool, int, float, str)
