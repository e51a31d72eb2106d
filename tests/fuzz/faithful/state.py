"""What torch, warnings and the interpreter keep for the whole process: all of it must be as without the inspector."""

from __future__ import annotations

import sys
import threading
import warnings
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as modules
from torch.optim import optimizer as optimizers
from torch.overrides import _get_current_function_mode_stack, _pop_mode
from torch.utils._python_dispatch import _pop_mode as _pop_dispatch_mode

_OWNERS: dict[str, Any] = {
    "torch": torch,
    "torch.autograd": torch.autograd,
    "Function": torch.autograd.Function,
    "Tensor": torch.Tensor,
    "Module": nn.Module,
    "Parameter": nn.Parameter,
    "Optimizer": torch.optim.Optimizer,
    "inference_mode": torch.inference_mode,
    "warnings": warnings,
    "overrides": torch.overrides,
    "TorchFunctionMode": torch.overrides.TorchFunctionMode,
    "distributed": torch.distributed,
    "torch._C": torch._C,
    "nn.functional": nn.functional,
}
_CHANGING = {"__warningregistry__", "filters", "_filters_version", "onceregistry", "showwarning", "_onceregistry"}


def settings() -> dict[str, Any]:
    """The modes and settings that are on now.

    The inspector's function mode does not count, nor do hooks on registration and steps: its README names them.
    """
    stack = [type(mode).__name__ for mode in _get_current_function_mode_stack()]
    hooks = {
        name: len(member)
        for name, member in vars(modules).items()
        if name.startswith("_global_") and "registration" not in name and hasattr(member, "__len__")
    }
    return {
        "grad": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "anomaly": torch.is_anomaly_enabled(),
        "autocast": (torch.is_autocast_enabled("cpu"), str(torch.get_autocast_dtype("cpu"))),
        "function modes": [name for name in stack if name != "Recorder"],
        "dispatch modes": torch._C._len_torch_dispatch_stack(),
        "default dtype": str(torch.get_default_dtype()),
        "default device": str(torch.get_default_device()),
        "saved tensor hooks": torch._C._autograd._saved_tensors_hooks_is_enabled(),
        "hooks": hooks,
        "threads": threading.active_count(),
    }


def everything() -> dict[str, Any]:
    """After the block: the settings, what stands under each name that could be replaced, filters and random streams."""
    names = {
        f"{owner}.{name}": id(value)
        for owner, holder in _OWNERS.items()
        for name, value in vars(holder).items()
        if name not in _CHANGING
    }
    return settings() | {
        "names": names,
        "step hooks": (len(optimizers._global_optimizer_pre_hooks), len(optimizers._global_optimizer_post_hooks)),
        "registration hooks": {
            name: len(registered) for name, registered in vars(modules).items() if name.endswith("_registration_hooks")
        },
        "all function modes": [type(mode).__name__ for mode in _get_current_function_mode_stack()],
        "filters": [_plain(entry) for entry in warnings.filters],
        "recursion limit": sys.getrecursionlimit(),
        "random": hash(bytes(torch.get_rng_state().tolist())),
        "trace": (sys.gettrace(), sys.getprofile()),
    }


def _plain(entry: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(getattr(part, "pattern", part) for part in entry)


def restored(outer: list[Any]) -> None:
    """Undo what a program left on: the next one starts from the same place."""
    while len(_get_current_function_mode_stack()) > len(outer):
        _pop_mode()
    while torch._C._len_torch_dispatch_stack():
        _pop_dispatch_mode()
    for name, hooks in vars(modules).items():
        if name.startswith("_global_") and hasattr(hooks, "clear"):
            hooks.clear()
    torch._C._set_grad_enabled(True)
    torch.set_autocast_enabled("cpu", False)
    torch.set_default_dtype(torch.float32)
    torch.autograd.set_detect_anomaly(False)
    torch.set_default_device(None)
