"""``torch.utils.swap_tensors``: two tensor objects exchange what they hold, and refuse to while anybody watches them.

``module.to()`` and ``load_state_dict()`` call it after ``torch.__future__.set_swap_module_params_on_conversion(True)``.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch.utils
from torch import Tensor
from torch.nn import Parameter

from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.recording.registry import Entry
from autograd_inspector.capture.torch_private.calls import SWAP
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around


class _WithoutOurs:
    """The module ``weakref`` as ``torch.utils`` sees it: the capture's own references do not count.

    They compare by the object, which keeps its identity, so that they stay right. The program's own still make torch
    refuse, in its own words. The name is replaced where ``swap_tensors`` looks it up, not the function, which the
    program may have imported before.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(weakref, name)

    @staticmethod
    def getweakrefs(tensor: Any) -> list[Any]:
        """The weak references to an object that are not ours."""
        return [ref for ref in weakref.getweakrefs(tensor) if not isinstance(ref, Entry)]


class Swaps:
    """Lets them through, and reads both tensors again afterwards."""

    def __init__(self, recording: Recording, guard: Guard) -> None:
        self.recording = recording
        self._guard = guard

    def install(self, into: Installation) -> None:
        """Stand between ``swap_tensors`` and what it calls."""
        if vars(torch.utils).get("weakref") is weakref:
            into.replace(torch.utils, "weakref", _WithoutOurs())
        owner = SWAP.owner()
        if owner is not None:
            around(into, owner, SWAP.name, self)

    def before(self, seen: list[Any], /, *tensors: Any, **_: Any) -> None:
        """Two tensors are about to be swapped."""
        seen += tensors
        if self.recording.here():
            self._guard.run(self._so_far)

    def after(self, seen: list[Any], result: Any, /) -> Any:
        """They were."""
        if self.recording.here():
            self._guard.run(self._read_again, *seen)
        return result

    def failed(self, seen: list[Any], error: BaseException, /) -> None:
        """They were not."""

    def _so_far(self) -> None:
        """What ran so far, it did on the memory that each tensor had."""
        self.recording.ledger.update(self.recording)

    def _read_again(self, *swapped: Tensor) -> None:
        recording, registry = self.recording, self.recording.registry
        for tensor in swapped:
            entry = registry.entry_of(tensor)
            if entry is None:
                continue
            required = entry.requires_grad
            registry.refresh(entry.tensor, tensor)
            if type(tensor) is Parameter:
                registry.parameters.add(entry.tensor)
            if entry.requires_grad != required:
                recording.requires_grad_changed(entry.tensor, requires_grad=entry.requires_grad)
