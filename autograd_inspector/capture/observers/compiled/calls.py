"""torch.compile'd regions: one opaque op each, compiled and run without any observer in sight."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from types import FrameType, MethodType
from typing import Any, Protocol

import torch
from torch import nn

from autograd_inspector.capture.compiled.fx_code import FxCode
from autograd_inspector.capture.compiled.listener import unwatch, watch
from autograd_inspector.capture.lines.frame_locals import locals_of
from autograd_inspector.capture.lines.frames import outwards
from autograd_inspector.capture.lines.stacks import SKIP, classify
from autograd_inspector.capture.observers.backward.node_hooks import NodeHooks
from autograd_inspector.capture.observers.calls.installed import Observers
from autograd_inspector.capture.observers.compiled.interpreter import Calls
from autograd_inspector.capture.observers.compiled.opened import CompiledCall, KeptOut, Opener
from autograd_inspector.capture.observers.compiled.passed_over import left_to_python, note_of
from autograd_inspector.capture.observers.optimizers.steps import Steps
from autograd_inspector.capture.torch_private.compiled import (
    COMPILED_CALL,
    COMPILED_MODULE,
    DISABLED_CALL,
    STANCE,
    SWITCH,
    dynamo_shows_itself,
    eager_stance,
    keep_out_of,
    original_of,
    runs_eagerly,
)
from autograd_inspector.capture.torch_private.modes import function_modes, is_on
from autograd_inspector.capture.torch_private.resolving import UnsupportedTorch
from autograd_inspector.capture.undisturbed.dynamo import keep_out_of_all
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around

EAGER = "Some code uses torch.compile; as requested, it ran uncompiled."

ELSEWHERE = (
    "Compiled code ran in another thread: during that time only single torch calls were observed here, no modules, "
    "backward runs or optimizer steps."
)


class _Thread(threading.local):
    """What runs in this thread."""

    def __init__(self) -> None:
        self.open: list[tuple[FrameType, Region]] = []
        self.kept_out: list[KeptOut] = []


class Region(Protocol):
    """A call of compiled code, from its begin to its end. Ended again, it goes on with what was not done."""

    def begin(self) -> None:
        """The call begins. Where an interrupt strikes here, it has to be ended."""

    def done(self, result: Any) -> None:
        """What the call returned."""

    def end(self, error: BaseException | None = None) -> None:
        """The call is over."""


class Compiled:
    """Takes the observers away while compiled code is compiled or runs, and notes what went in and came out."""

    def __init__(self, observers: Observers, modules: Calls, steps: Steps, *, eager: bool = False) -> None:
        self._eager = eager
        self._opener = Opener(observers.recorder, modules, steps)
        self._observers = observers
        self._guard = observers.recorder.guard
        self._thread = _Thread()
        self._standing = False
        self._into: Installation | None = None

    def install(self, into: Installation) -> None:
        """Stand where dynamo is switched on and off, and around compiled modules."""
        into.made(self._forget)
        into.made(unwatch)
        watch(self._opener)
        self._guard.recording.stacks.graph_code = FxCode()
        self._into = into
        self._standing = self._stand_in(into, used=False)
        if not self._standing:
            around(into, torch, "compile", self)  # dynamo takes seconds to import, so that does it on first use.

    def _forget(self) -> None:
        self._thread = _Thread()

    def before(self, seen: list[Any], /, *_: Any, **__: Any) -> None:
        """Something is about to be made by ``torch.compile``."""

    def after(self, seen: list[Any], result: Any, /) -> Any:
        """It was, and dynamo is there by now."""
        into = self._into
        if into is not None and not self._standing and not self._guard.recording.closed:
            try:
                self._standing = self._stand_in(into, used=True)
            except UnsupportedTorch as failure:
                self._guard.run(into.take_back)
                self._guard.on_failure(failure)
        return result

    def failed(self, seen: list[Any], error: BaseException, /) -> None:
        """It was not."""

    def _stand_in(self, into: Installation, *, used: bool) -> bool:
        """Whether dynamo is there to stand in for; raises UnsupportedTorch where it would trace the observers."""
        if not dynamo_shows_itself(used=used):
            return False
        # A compiled module may be called where Dynamo looks on: by code that it left to Python.
        regions = [getattr(kind, name) for kind in (CompiledCall, _Elsewhere) for name in ("begin", "done", "end")]
        ours = (NodeHooks.called, Compiled._region, runs_eagerly, *regions)
        keep_out_of([each.__code__ for each in ours])
        keep_out_of_all()
        dynamo, module = SWITCH.owner(), COMPILED_MODULE.owner()
        stance = eager_stance() if self._eager else None
        if stance is not None:
            into.replace(STANCE.owner(), STANCE.name, stance)
        into.replace(dynamo, SWITCH.name, self._switching(vars(dynamo)[SWITCH.name]))
        into.replace(module, COMPILED_MODULE.name, self._calling(vars(module)[COMPILED_MODULE.name]))
        return True

    def _calling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            if runs_eagerly():
                return original(module, *args, **kwargs)
            region = self._region(module, args, kwargs)
            try:
                region.begin()
                result = original(module, *args, **kwargs)
                region.done(result)
                region.end()
            except BaseException as error:
                try:
                    region.end(error)
                except BaseException:
                    region.end(error)
                    raise
                raise
            return result

        calling: Any = call
        keep_out_of([calling.__code__], inside=False)
        return call

    def _switching(self, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(original)
        def switch(callback: Any) -> Any:
            frame = sys._getframe(1)
            if frame.f_code.co_name == DISABLED_CALL:
                return self._kept_out(original, callback, frame)
            if frame.f_code.co_name != COMPILED_CALL:
                return original(callback)
            if self._thread.open and self._thread.open[-1][0] is frame:
                before = original(callback)
                self._leave()
                return before
            if callback not in {None, False}:
                if self._ran_uncompiled(frame):
                    return original(None)
                self._enter(frame)
            elif self._eager and not self._guard.recording.closed and self._guard.recording.here():
                self._guard.recording.note(EAGER)
            return original(callback)

        return switch

    def _ran_uncompiled(self, frame: FrameType) -> bool:
        """Whether Dynamo compiles nothing of a call, which then need not look on."""
        recording = self._guard.recording
        if self._thread.open or len(function_modes()) > is_on(recording.mode) or not recording.here():
            return False
        held = dict(locals_of(frame))  # With fullgraph=True torch is about to say what it passed over.
        module = None if getattr(held.get("self"), "fullgraph", True) else left_to_python(held.get("fn"))
        if module is not None:
            recording.note(note_of(module))
        return module is not None

    def _kept_out(self, original: Callable[[Any], Any], callback: Any, frame: FrameType) -> Any:
        """Dynamo is switched off for a function that compiled code calls, or on again: meanwhile all is observed."""
        opened = self._thread.kept_out
        if opened and opened[-1].frame is frame:
            opened.pop().end()
            return original(callback)
        if callback not in {None, False}:
            return original(callback)  # Whatever of ours ran after that would be compiled.
        before = original(callback)
        if self._opener.may_look_on(dict(locals_of(frame)).get("fn"), frame):
            opened.append(KeptOut(self._opener.calls[-1], self._observers, frame))
            opened[-1].begin()
        return before

    def _enter(self, frame: FrameType) -> None:
        """A compiled function begins. The frame is torch's: its locals hold the arguments and, later, the result."""
        opened = self._thread.open
        while opened and all(each is not opened[-1][0] for each in outwards(frame)):
            self._leave()  # An interrupt kept it from being left.
        frame_locals = dict(locals_of(frame))
        region = self._region(frame_locals.get("fn"), frame_locals.get("args", ()), frame_locals.get("kwargs", {}))
        opened.append((frame, region))
        region.begin()

    def _leave(self) -> None:
        frame, region = self._thread.open[-1]
        error = None
        frame_locals = dict(locals_of(frame))
        if "result" in frame_locals:
            region.done(frame_locals["result"])
        else:
            error = sys.exc_info()[1]
        region.end(error)
        self._thread.open.pop()

    def _region(self, what: Any, args: Any, kwargs: Any) -> Region:
        if not self._guard.recording.here():
            return _Elsewhere(self._observers)
        name = f"compiled {_name_of(what)}"
        return CompiledCall(self._opener, name, what, (args, kwargs), self._observers)


class _Elsewhere:
    """A call in a thread that is not part of the capture. It would trace the observers there as well."""

    def __init__(self, observers: Observers) -> None:
        self._observers = observers
        self._guard = observers.recorder.guard

    def begin(self) -> None:
        """Nothing is observed meanwhile, and the report says so."""
        self._guard.recording.note(ELSEWHERE)
        self._guard.recording.elsewhere.add(id(self))
        self._observers.leave(self)

    def done(self, result: Any) -> None:
        """What it returned is not the capture's."""

    def end(self, error: BaseException | None = None) -> None:
        """All is observed again."""
        self._guard.recording.elsewhere.discard(id(self))
        self._guard.run(self._observers.come_back, self)


def _name_of(what: Any) -> str:
    module = original_of(what)
    owner = what.__self__ if type(what) is MethodType else None
    if module is None and isinstance(owner, nn.Module) and classify(what.__code__.co_filename) == SKIP:
        module = owner  # module.compile() compiles a method of torch's own.
    return type(module).__name__ if module is not None else getattr(what, "__name__", type(what).__name__)
