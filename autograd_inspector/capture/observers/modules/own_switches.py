"""Plain attributes of the program's modules that choose what a forward does: ``self.deep_supervision``, ``self.cache``.

Looked at whenever the module is called: nothing tells when the program writes them.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch
from msgspec.structs import replace
from torch import nn

from autograd_inspector.capture.lines.attributes import items_of, module_of, own_attributes
from autograd_inspector.capture.observers.modules.known import Place
from autograd_inspector.capture.observers.modules.plain import assignments
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.torch_private.modules import own_children
from autograd_inspector.model.program_events import AttributeSwitched

_BASE = frozenset(vars(nn.Module()))
"""What every module has of torch's."""
_TORCHS = "torch."
_MOST = 8
"""So many changes of an attribute are told: one that changes with every call chooses nothing for good."""
_PLAIN = {True: "True", False: "False", None: "None"}

_Values = dict[str, str]
"""Attribute -> its value, where that is True, False or None; of any other its class."""


class _Met:
    """A module as it was when it was called last; ``quiet``: what a call without gradients met."""

    def __init__(self, module: nn.Module) -> None:
        self.ref = weakref.ref(module)
        self.values: _Values | None = None
        self.quiet: _Values = {}
        self.told: dict[str, int] = {}


class OwnSwitches:
    """Compares each module with what it was when it was called before."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._met: dict[int, _Met] = {}
        self._put: dict[tuple[int, str], int] = {}
        """(Python's id of a module, attribute) -> the site that put a module there last."""
        self._skipped: dict[int, tuple[type, bool]] = {}

    def put(self, parent: nn.Module, name: str, site: int) -> None:
        """A module that was met before gets another one."""
        if id(parent) in self._met:
            self._put[id(parent), name] = site

    def called(self, module: nn.Module, place: Place) -> None:
        """A call begins."""
        kind = type(module)
        known = self._skipped.get(id(kind))
        if known is None:
            known = self._skipped[id(kind)] = kind, module_of(kind).startswith(_TORCHS)
        if known[1]:
            return
        met = self._met.get(id(module))
        if met is None or met.ref() is not module:
            met = self._met[id(module)] = _Met(module)
        values, before = _values(module), met.values
        looks = not torch.is_grad_enabled()
        if before is not None and values != before:
            self._changed(module, place, met, values, looks=looks)
        met.values = values
        if looks:
            met.quiet = values

    def _changed(self, module: nn.Module, place: Place, met: _Met, values: _Values, *, looks: bool) -> None:
        recording, before = self._recording, met.values or {}
        for name in (name for name in values if name in before and values[name] != before[name]):
            met.told[name] = met.told.get(name, 0) + 1
            if met.told[name] > _MOST:
                continue
            event = AttributeSwitched(
                len(recording.ops),
                self._put.pop((id(module), name), -1),
                type(module).__name__,
                name,
                before[name],
                values[name],
                place.root.number,
                place.path,
                looks,
                met.quiet.get(name) == before[name],
            )
            recording.events.append(event)

    def fold(self) -> None:
        """Forget modules that are gone."""
        self._met = {key: met for key, met in self._met.items() if met.ref() is not None}
        self._put = {key: site for key, site in self._put.items() if key[0] in self._met}


def note_lines(recording: Recording) -> None:
    """Fill in the lines that set attributes, where the source shows one alone that can have."""
    sites: dict[tuple[str, str], int] = {}
    for number, event in enumerate(recording.events):
        if not isinstance(event, AttributeSwitched) or event.site >= 0:
            continue
        key = event.name, event.after if event.after in _PLAIN.values() else ""
        if key not in sites:
            found = list(assignments(recording, *key)) or list(assignments(recording, event.name, ""))
            sites[key] = found[0][1] if len(found) == 1 else -1
        recording.events[number] = replace(event, site=sites[key])


def _values(module: nn.Module) -> _Values:
    attributes: dict[Any, Any] = own_attributes(module) or {}
    values = {
        name: _PLAIN[value] if value is None or value is True or value is False else type(value).__name__
        for name, value in items_of(attributes)
        if type(name) is str and name not in _BASE
    }
    for name, child in items_of(own_children(module)):
        values[name] = "None" if child is None else type(child).__name__
    return values
