"""What gave two modules the same parameters, and what took a module's place under its name."""

from __future__ import annotations

from collections.abc import Collection

from autograd_inspector.model.capture import Capture
from autograd_inspector.model.program_events import ModelsShared, ModuleCopied, ModuleExchanged, ModuleReattached

Sharing = ModelsShared | ModuleCopied | ModuleReattached


def shared_by(capture: Capture, tensors: Collection[int]) -> Sharing | None:
    """Where a model was copied shallowly, or where a layer of one was put into the other."""
    wanted = frozenset(tensors)
    named = (e for e in capture.events_of(ModelsShared) if e.copied and wanted <= set(e.tensors))
    copies = (e for e in capture.events_of(ModuleCopied) if wanted <= set(e.tensors))
    layers = (e for e in capture.events_of(ModuleReattached) if not wanted.isdisjoint(e.tensors))
    return next(named, None) or next(copies, None) or next(layers, None)


def replaced_by_namesake(capture: Capture, unregistered: Collection[int]) -> ModuleExchanged | None:
    """Where a module that has some of these, which no model has, lost its name in one to another module."""
    return next((e for e in capture.events_of(ModuleExchanged) if not set(e.pairs[0]).isdisjoint(unregistered)), None)
