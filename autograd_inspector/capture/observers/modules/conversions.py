"""Who registers, replaces, converts and loads the parameters of modules."""

from __future__ import annotations

import copy
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from torch import Tensor, nn
from torch.nn.modules import module as hooks

from autograd_inspector.capture.module_tree import joined, named_parameters, parameters_of
from autograd_inspector.capture.observers.modules.contents import Contents
from autograd_inspector.capture.observers.modules.own_switches import OwnSwitches
from autograd_inspector.capture.observers.modules.unmatched import Unmatched
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.torch_private.modules import CONVERSION, own_buffers, own_children
from autograd_inspector.capture.torch_private.tensors import gradient_hooks, post_accumulate_hooks
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around, observed
from autograd_inspector.model.program_events import (
    Event,
    HooksLost,
    ModelLoaded,
    ModuleAttached,
    ModuleCopied,
    ModuleExchanged,
    ModuleReattached,
    ModuleRepeated,
    ParameterRegistered,
    ParametersConverted,
)

Made = Callable[[int, int, tuple[int, ...]], Event]
"""(op index, site, tensors) -> what happened."""
_LOOKS = 50
"""Conversions and loads after which models are looked at once more right away; after later ones with the next call."""
_TORCHS = nn.Module.apply.__code__.co_filename
"""The file of the method for conversions, as code objects name it."""
_COPY = copy.copy.__code__
Before = tuple[list[tuple[str, ...]], dict[str, Tensor]]
"""Of a module that new parameters are assigned to: the names of each that has several; those that have hooks."""


class Models(Protocol):
    """The models that are known, as far as a conversion needs them."""

    @property
    def contents(self) -> Contents:
        """What was in them at the last look."""

    @property
    def own_switches(self) -> OwnSwitches:
        """What is known of their attributes."""

    def path_of(self, module: nn.Module) -> str | None:
        """The qualified name of a module that was met before, None for any other."""

    def touched(self, module: nn.Module, tensors: Iterable[int] = ()) -> set[int]:
        """Something may be exchanged in that module, or in what has one of those tensors: the roots concerned."""

    def look_again(self) -> None:
        """Read the names of those roots again in which something may have been exchanged."""


class Conversions:
    """Notes each as an event, and has the models looked at again."""

    def __init__(self, recording: Recording, guard: Guard, modules: Models) -> None:
        self.recording = recording
        self._guard = guard
        self._modules = modules
        self._looks = 0
        self._unmatched = Unmatched(recording, guard)
        self._parents: WeakKeyDictionary[nn.Module, weakref.ref[nn.Module]] = WeakKeyDictionary()
        """What each module was put into last."""

    def install(self, into: Installation) -> None:
        """Registration hooks, and observers of conversion and loading."""
        into.hook(hooks.register_module_parameter_registration_hook, self._registered)
        into.hook(hooks.register_module_module_registration_hook, self._attached)
        into.hook(hooks.register_module_buffer_registration_hook, self._buffered)
        if CONVERSION.owner() is not None:
            around(into, nn.Module, CONVERSION.name, _ConversionProbe(self._guard, self._converted))
        around(into, nn.Module, "load_state_dict", _LoadProbe(self._guard, self._loaded))
        observed(into, nn.Module, "__setstate__", after=self._copied, guard=self._guard)
        self._unmatched.install(into)

    def _registered(self, module: nn.Module, name: str, parameter: Any) -> None:
        if isinstance(parameter, Tensor) and self.recording.here() and self.recording.active():
            kind = type(module).__name__
            self._guard.run(
                self._note, (parameter,), lambda at, site, ids: ParameterRegistered(at, site, kind, name, *ids)
            )
            self._guard.run(self._attach, module, name, parameter)

    def _buffered(self, module: nn.Module, name: str, _buffer: Any) -> None:
        """A buffer that is new may stand where a parameter stood: what was computed of it under ``no_grad`` is none."""
        if name not in own_buffers(module) and self.recording.here() and self.recording.active():
            self._guard.run(self._attach, module, name, None, "buffer")

    def _attached(self, parent: nn.Module, name: str, module: nn.Module | None) -> None:
        if self.recording.here() and self.recording.active():
            self._guard.run(self._attach, parent, name, module)
            self._guard.run(self._exchange, parent, name, module)
            if module is not None:
                self._guard.run(self._reattach, parent, name, module)
                if name.isdigit():
                    self._guard.run(self._repeat, parent, module)

    def _exchange(self, parent: nn.Module, name: str, module: nn.Module | None) -> None:
        """What the attribute still has is about to go."""
        before = own_children(parent).get(name)
        if before is None or module is None or before is module:
            return
        gone, come = (tuple(parameters_of(each)) for each in (before, module))
        if gone and come:
            kind, cut = type(before).__name__, len(gone)
            self._note(gone + come, lambda at, site, ids: ModuleExchanged(at, site, kind, name, (ids[:cut], ids[cut:])))

    def _repeat(self, parent: nn.Module, module: nn.Module) -> None:
        """A list gets a module: it may have it already.

        What stands first or last in it tells: `[layer] * 3` and `[layer, norm] * 3` begin again with the same one.
        """
        held = own_children(parent)
        if held and (next(iter(held.values())) is module or next(reversed(held.values())) is module):
            inside, kind = tuple(parameters_of(module)), type(parent).__name__
            if inside:
                self._note(inside, lambda at, site, ids: ModuleRepeated(at, site, kind, ids))

    def _reattach(self, parent: nn.Module, name: str, module: nn.Module) -> None:
        """Another module has it already, and will have it in common with this one."""
        before = self._parents.get(module)
        self._parents[module] = weakref.ref(parent)
        other = None if before is None else before()
        if other is None or other is parent or all(child is not module for child in own_children(other).values()):
            return
        inside, kind = tuple(parameters_of(module)), type(parent).__name__
        if inside:
            self._note(inside, lambda at, site, ids: ModuleReattached(at, site, kind, name, ids))

    def _attach(self, parent: nn.Module, name: str, part: nn.Module | Tensor | None, called: str = "") -> None:
        """Something became part of a module that was met before: ``net.head = nn.Linear(4, 2)``.

        The parameters of a module that becomes part of one that nobody has met were told as they were registered.
        """
        path = self._modules.path_of(parent)
        if path is None:
            return
        place = joined(path, name)
        kind = called or ("Parameter" if isinstance(part, Tensor) else type(part).__name__)
        roots = self._modules.touched(parent)
        site = self.recording.stacks.here(0)
        self._modules.contents.caused(roots, f"{place} = {kind}", site)
        self._modules.own_switches.put(parent, name, site)
        inside = tuple(parameters_of(part)) if isinstance(part, nn.Module) else ()
        if inside:
            owner = type(parent).__name__
            self._note(inside, lambda at, site, ids: ModuleAttached(at, site, owner, name, place, ids))

    def _copied(self, module: nn.Module, _args: Any, _kwargs: Any, _before: Any) -> None:
        inside = tuple(parameters_of(module)) if self.recording.active() and _shallow(sys._getframe(1)) else ()
        if inside:
            kind = type(module).__name__
            self._note(inside, lambda at, site, ids: ModuleCopied(at, site, kind, ids))

    def _converted(self, module: nn.Module, by: str) -> None:
        kind = type(module).__name__
        self._exchanged(module, lambda at, site, ids: ParametersConverted(at, site, kind, by, ids))

    def _loaded(self, result: Any, module: nn.Module, state_dict: Any, before: Before | None) -> None:
        self._unmatched.loaded(module, state_dict, result)
        tied, hooked = before or ([], {})
        kind, assign = type(module).__name__, before is not None
        how = " assign=True" if assign else ""
        parted = dict(self._parted(module, tied)) if tied else {}
        pairs, names = tuple(parted.values()), tuple(parted)
        self._exchanged(module, lambda at, site, ids: ModelLoaded(at, site, kind, ids, assign, pairs, names), how)
        own, number = dict(named_parameters(module)) if hooked else {}, self.recording.id_of
        lost = tuple(
            (number(old), number(own[name]))
            for name, old in hooked.items()
            if name in own and own[name] is not old and not _has_hooks(own[name])
        )
        if lost:
            self._note((), lambda at, site, _ids: HooksLost(at, site, kind, lost))

    def _parted(
        self, module: nn.Module, tied: list[tuple[str, ...]]
    ) -> Iterator[tuple[tuple[str, str], tuple[int, int]]]:
        """Names that had one parameter before a load, and have two since: each with the first of them."""
        own = dict(named_parameters(module))
        number = self.recording.id_of
        for first, *others in tied:
            for name in others:
                if own.get(first) is not own.get(name) and {first, name} <= own.keys():
                    yield (first, name), (number(own[first]), number(own[name]))

    def _exchanged(self, module: nn.Module, made: Made, how: str = "") -> None:
        event = self._note(tuple(parameters_of(module)), made)
        roots = self._modules.touched(module, event.tensors)
        self._modules.contents.caused(roots, event.api + how, event.site)
        self._looks += 1
        if self._looks <= _LOOKS:
            self._modules.look_again()

    def _note(self, tensors: tuple[Tensor, ...], made: Made) -> Event:
        """Record what ``made`` makes of the op index, the site and the ids of the tensors."""
        recording = self.recording
        ids = tuple(recording.id_of(tensor) for tensor in tensors)
        for number, tensor in zip(ids, tensors, strict=True):
            recording.registry.parameters.add(number)
            recording.registry.refresh(number, tensor)
        site = recording.stacks.here(0)
        event = made(len(recording.ops), site, ids)
        recording.events.append(event)
        return event


class _ConversionProbe:
    """In the method for conversions: which of torch's own called it (``to``, ``half``) for which module."""

    def __init__(self, guard: Guard, step: Callable[[nn.Module, str], None]) -> None:
        self._guard = guard
        self._step = step

    def before(self, seen: list[Any], module: nn.Module, /, *_args: Any, **_kwargs: Any) -> None:
        name = _converting(sys._getframe(2))
        if name and self._guard.recording.here():
            seen += (module, name)

    def after(self, seen: list[Any], result: Any, /) -> Any:
        if seen:
            module, name = seen
            seen[:] = ()  # Once: an interrupt may strike when it is done.
            self._guard.run(self._step, module, name)
        return result

    def failed(self, seen: list[Any], _error: BaseException, /) -> None:
        self.after(seen, None)


class _LoadProbe:
    """In ``Module.load_state_dict``: what was loaded into which module, and what that says of the names."""

    def __init__(self, guard: Guard, step: Callable[..., None]) -> None:
        self._guard = guard
        self._step = step

    def before(self, seen: list[Any], module: nn.Module, /, *given: Any, **named: Any) -> None:
        """It is about to be."""
        if self._guard.recording.here():
            values = dict(zip(("state_dict", "strict", "assign"), given, strict=False)) | named
            seen += (module, values.get("state_dict"), None)
            if values.get("assign") is True:
                seen[-1] = self._guard.run(_before, module) or ([], {})

    def after(self, seen: list[Any], result: Any, /) -> Any:
        """It was."""
        if seen:
            module, state_dict, had = seen
            seen[:] = ()  # Once: an interrupt may strike when it is done.
            self._guard.run(self._step, result, module, state_dict, had)
        return result

    def failed(self, seen: list[Any], _error: BaseException, /) -> None:
        """It raised, and may have loaded some."""
        self.after(seen, None)


def _before(module: nn.Module) -> Before:
    return _tied(module), {name: each for name, each in named_parameters(module) if _has_hooks(each)}


def _has_hooks(parameter: Tensor) -> bool:
    return bool(gradient_hooks(parameter) or post_accumulate_hooks(parameter))


def _tied(module: nn.Module) -> list[tuple[str, ...]]:
    """The names of each parameter that has several."""
    names: dict[int, list[str]] = {}
    for name, parameter in named_parameters(module):
        names.setdefault(id(parameter), []).append(name)
    return [tuple(each) for each in names.values() if len(each) > 1]


def _shallow(frame: FrameType | None) -> bool:
    """Whether ``copy.copy`` asks a module to take over a state; ``deepcopy`` and ``pickle`` make one of its own."""
    while frame is not None and frame.f_code is not _COPY:
        if frame.f_code.co_name == "deepcopy" and frame.f_code.co_filename == _COPY.co_filename:
            return False
        frame = frame.f_back
    return frame is not None


def _converting(frame: FrameType | None) -> str:
    """Who calls the method for conversions, past those that override it; "" for torch's own, of an outer module."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == CONVERSION.name and code.co_filename == _TORCHS:
            return ""
        if code.co_name != CONVERSION.name and not code.co_name.startswith("<"):
            return code.co_name
        frame = frame.f_back
    return ""
