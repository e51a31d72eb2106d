"""Whether ``eval()`` comes to all that is in a module: a ``train()`` of the program's own may not pass it on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

from torch import nn

from autograd_inspector.capture.lines.attributes import entries_of, looked_up, own_attributes
from autograd_inspector.capture.lines.bytecode import attribute_lines
from autograd_inspector.capture.lines.callables import code_of
from autograd_inspector.capture.lines.stacks import USER, classify
from autograd_inspector.capture.observers.modules.known import Place
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.torch_private.modules import own_children
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.model.program_events import ModeNotPassedOn

_DEEPEST = 60
"""So deep modules are looked at: one may be inside of itself."""


class PassingOn:
    """A probe in ``Module.eval`` that is told of the calls of torch's ``train()`` in between."""

    def __init__(self, recording: Recording, guard: Guard, place_of: Callable[[nn.Module], Place | None]) -> None:
        self._recording = recording
        self._guard = guard
        self._place_of = place_of
        self._outer: nn.Module | None = None
        self._told: set[int] = set()
        """Python's ids of the modules that torch's ``train()`` was called of, while the outermost ``eval()`` runs."""
        self._without_mode = -1
        """Where that of the module itself was called without a mode."""

    def told(self, module: nn.Module, mode: Any, frame: FrameType) -> None:
        """Torch's own ``train()``, which runs in that frame, is called of a module."""
        if self._outer is not None:
            self._told.add(id(module))
            if module is self._outer and mode is True:
                self._guard.run(self._locate, frame)

    def _locate(self, frame: FrameType) -> None:
        if not self._recording.passed.passes(frame.f_code, frame, "mode", 0):
            self._without_mode = self._recording.stacks.here(0)

    def before(self, seen: list[Any], module: nn.Module, /, *_given: Any, **_named: Any) -> None:
        """``eval()`` begins; one within another is a part of it."""
        if self._outer is None and self._guard.recording.here():
            self._outer = module
            seen.append(module)

    def after(self, seen: list[Any], result: Any, /) -> Any:
        """It is done."""
        if seen:
            seen[:] = ()  # Once: an interrupt may strike when it is done.
            self._guard.run(self._look)
        return result

    def failed(self, seen: list[Any], _error: BaseException, /) -> None:
        """It raised: what is inside may be in either mode."""
        if seen:
            self._outer = None
            self._told.clear()
            self._without_mode = -1

    def _look(self) -> None:
        outer, told, site = self._outer, frozenset(self._told), self._without_mode
        self._outer = None
        self._told.clear()
        self._without_mode = -1
        if outer is not None and self._recording.active():
            code = code_of(looked_up(type(outer), "train")) if site >= 0 and _training(outer) is True else None
            if code is not None:
                self._note(outer, site, code, ("", *_untold(outer, frozenset(), "", _DEEPEST)))
            self._below(outer, told, _DEEPEST)

    def _below(self, module: nn.Module, told: frozenset[int], deepest: int) -> None:
        if id(module) not in told and _training(module) is False:
            override = _override(type(module))
            missed = tuple(_untold(module, told, "", _DEEPEST)) if override is not None else ()
            if override is not None and missed:
                code, line = override
                self._note(module, self._recording.stacks.of_code(code, line), code, missed)
        for _, child in entries_of(own_children(module)) if deepest else ():
            if isinstance(child, nn.Module):
                self._below(child, told, deepest - 1)

    def _note(self, module: nn.Module, site: int, code: CodeType, missed: tuple[str, ...]) -> None:
        place, recording = self._place_of(module), self._recording
        if place is not None:
            mode = code.co_varnames[1] if code.co_argcount > 1 else ""
            event = ModeNotPassedOn(
                len(recording.ops), site, type(module).__name__, place.root.number, place.path, missed, mode
            )
            recording.events.append(event)


def _training(module: nn.Module) -> Any:
    return (own_attributes(module) or {}).get("training")


def _override(kind: type) -> tuple[CodeType, int] | None:
    """The user's own ``train()`` of a class, and the line where it sets the mode of the module itself."""
    code = code_of(looked_up(kind, "train"))
    if code is None or classify(code.co_filename) != USER:
        return None
    line = next(attribute_lines(code, "training"), None)
    return None if line is None else (code, line)


def _untold(module: nn.Module, told: frozenset[int], path: str, deepest: int) -> Iterator[str]:
    """The paths of what is inside, is in train mode, and was not told of any mode, by torch's ``train()`` at least."""
    for name, child in entries_of(own_children(module)) if deepest else ():
        if isinstance(child, nn.Module):
            inner = f"{path}.{name}" if path else name
            if id(child) not in told and _training(child) is True:
                yield inner
            yield from _untold(child, told, inner, deepest - 1)
