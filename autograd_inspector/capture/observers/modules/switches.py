"""Train mode and eval mode: which part of which model the program puts into which, where, and what it does next."""

from __future__ import annotations

import sys
import weakref
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable
from functools import partial
from itertools import count
from operator import attrgetter, itemgetter
from types import FrameType
from typing import Any

import torch
from msgspec.structs import replace
from torch import nn

from autograd_inspector.capture.observers.modules.known import Place
from autograd_inspector.capture.observers.modules.passing_on import PassingOn
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around
from autograd_inspector.model.program_events import ModeSwitched

_TORCHS = nn.Module.train.__code__.co_filename
"""The file of ``train()``, as code objects name it."""
_METHODS = frozenset({"train", "eval"})
_UNMET = 8
"""Of a module that was never met so many switches are kept, the last ones."""
_TOLD = 50
"""So many modules that were never met are told of: a program may keep a thousand models, and look for each in all."""


class Switches:
    """Notes the calls of ``train()`` and ``eval()`` that the program makes, not those of torch's for what is inside.

    A model that was never met has no place to tell of: what befell it is told when it has one, before its first call.
    """

    def __init__(self, recording: Recording, guard: Guard, place_of: Callable[[nn.Module], Place | None]) -> None:
        self.recording = recording
        self._guard = guard
        self._place_of = place_of
        self._pending: dict[tuple[int, str], ModeSwitched] = {}
        """What was put into eval mode, by model and path, and was not called since."""
        self._unmet: dict[int, tuple[weakref.ref[nn.Module], list[tuple[int, ModeSwitched]]]] = {}
        """What befell modules that were never met, by Python's ids, each with its number among all of that."""
        self.untold: list[weakref.ref[nn.Module]] = []
        """Those of them that were put into eval mode since ``waiting`` was asked."""
        self._told = 0
        self._numbers = count()
        self._passing_on = PassingOn(recording, guard, place_of)

    def install(self, into: Installation) -> None:
        """Put the probe in place: ``eval()`` calls ``train()`` as well."""
        around(into, nn.Module, "train", _SwitchProbe(self._guard, self._switched, self._passing_on.told))
        around(into, nn.Module, "eval", self._passing_on)

    def _switched(self, module: nn.Module, *, training: bool) -> None:
        recording = self.recording
        if not recording.active():
            return
        place = self._place_of(module)
        if place is None:
            event = ModeSwitched(len(recording.ops), recording.stacks.here(0), type(module).__name__, training, -1)
            ref, switches = self._unmet.get(id(module), (None, []))
            if ref is None or ref() is not module:
                ref, switches = self._unmet[id(module)] = weakref.ref(module), []
                if not training and self._told < _TOLD:
                    self.untold.append(ref)
                    self._told += 1
            switches.append((next(self._numbers), event))
            del switches[:-_UNMET]
            return
        model = place.root.number
        for key in [key for key in self._pending if key[0] == model and within(key[1], place.path)]:
            del self._pending[key]
        site, kind = recording.stacks.here(0), type(module).__name__
        event = ModeSwitched(len(recording.ops), site, kind, training, model, place.path)
        recording.events.append(event)
        if not training:
            self._pending[model, place.path] = event

    def called(self, model: int, path: str) -> None:
        """The program calls a module that it calls from outside of any other."""
        if not self._pending:
            return
        keys = [key for key in self._pending if key[0] == model and within(path, key[1])]
        events = [self._pending.pop(key) for key in keys]
        if events and not torch.is_grad_enabled():
            self._looked(events)

    def waiting(self) -> list[nn.Module]:
        """The modules that were put into eval mode and that nobody has met, whoever calls them: each is told once."""
        unmet, self.untold = self.untold, []
        return [module for ref in unmet if (module := ref()) is not None and self._place_of(module) is None]

    def met(self, modules: Iterable[nn.Module]) -> None:
        """Modules have places now: what befell them before is put where it belongs in the order of events."""
        if not self._unmet:
            return
        earlier: list[tuple[int, ModeSwitched]] = []
        for module in modules:
            ref, switches = self._unmet.pop(id(module), (None, []))
            place = self._place_of(module) if ref is not None and ref() is module else None
            if place is not None:
                earlier += [(n, replace(each, model=place.root.number, path=place.path)) for n, each in switches]
        events = self.recording.events
        for _, event in sorted(earlier, key=itemgetter(0)):
            events.insert(bisect_right(events, event.at, key=attrgetter("at")), event)

    def _looked(self, events: Collection[ModeSwitched]) -> None:
        """It computes without gradients what comes first after it was put into eval mode."""
        told, ids = self.recording.events, set(map(id, events))
        for number in range(len(told) - 1, -1, -1):
            event = told[number]
            if id(event) in ids and isinstance(event, ModeSwitched):
                told[number] = replace(event, looks=True)
                ids.discard(id(event))
            if not ids:
                return

    def fold(self, models: Collection[int]) -> None:
        """Forget what belongs to other models."""
        self._pending = {key: event for key, event in self._pending.items() if key[0] in models}
        self._unmet = {key: each for key, each in self._unmet.items() if each[0]() is not None}


def within(path: str, outer: str) -> bool:
    """Whether a module is another one of the same model, or inside of it, by their paths."""
    return not outer or path == outer or path.startswith(f"{outer}.")


class _SwitchProbe:
    """In ``Module.train``: which module the program itself puts into which mode."""

    def __init__(
        self, guard: Guard, step: Callable[..., None], told: Callable[[nn.Module, Any, FrameType], None]
    ) -> None:
        self._guard = guard
        self._step = step
        self._told = told

    def before(self, seen: list[Any], module: nn.Module, /, *given: Any, **named: Any) -> None:
        """It is about to."""
        mode = given[0] if given else named.get("mode", True)
        self._told(module, mode, sys._getframe(1))
        if type(mode) is bool and self._guard.recording.here() and not _inside(sys._getframe(2)):
            seen += (module, mode)

    def after(self, seen: list[Any], result: Any, /) -> Any:
        """It has."""
        if seen:
            module, mode = seen
            seen[:] = ()  # Once: an interrupt may strike when it is done.
            self._guard.run(partial(self._step, module, training=mode))
        return result

    def failed(self, seen: list[Any], error: BaseException, /) -> None:
        """It raised: what is inside may be in either mode."""


def _inside(frame: FrameType | None) -> bool:
    """Whether torch itself switches a part of what it was asked to switch, past the methods that override it."""
    while frame is not None:
        code = frame.f_code
        if code.co_filename == _TORCHS and code.co_name == "train":
            return True
        if code.co_name not in _METHODS and not code.co_name.startswith("<"):
            return False
        frame = frame.f_back
    return False
