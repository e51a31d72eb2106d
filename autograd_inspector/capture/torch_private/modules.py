"""What modules and optimizers keep to themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torch import nn

from autograd_inspector.capture.torch_private.resolving import TABLE, Place, attribute, inline, own_entry
from autograd_inspector.interrupts import is_interrupt

CALL = Place("torch.nn:Module._call_impl", "the one method that every call of a module comes through", without="")
CONVERSION = Place(
    "torch.nn:Module._apply",
    "the one method that to(), half(), cuda() and the like go through",
    without="conversions of modules by to(), half(), cuda() and the like are not observed",
)


def _asked(names: Callable[[nn.Module], Iterable[tuple[str, Any]]]) -> Callable[[nn.Module], dict[str, Any]]:
    """Torch's own way, for a script module, which keeps them elsewhere; nothing where the constructor has not run."""

    def asking(module: nn.Module) -> dict[str, Any]:
        try:
            return dict(names(module))
        except Exception as failure:
            if is_interrupt(failure):
                raise
            return {}

    return asking


_CHILDREN = "torch.nn:Module._modules"
own_children = own_entry(
    _CHILDREN,
    "the modules in a module itself, without a method that the program may have written, and whether it has any yet",
    instead=_asked(nn.Module.named_children),
)
MADE = "training" if TABLE[_CHILDREN].missing else _CHILDREN.rpartition(".")[2]
"""What a module has once ``nn.Module.__init__`` has run; ``training`` is public, and may be set before it."""
own_parameters = own_entry(
    "torch.nn:Module._parameters",
    "the parameters of a module itself, without a method that the program may have written",
    instead=_asked(lambda module: nn.Module.named_parameters(module, recurse=False, remove_duplicate=False)),
)
own_buffers = own_entry(
    "torch.nn:Module._buffers",
    "the buffers of a module itself, without a method that the program may have written",
    instead=_asked(lambda module: nn.Module.named_buffers(module, recurse=False, remove_duplicate=False)),
)
TABLES = {_CHILDREN.rpartition(".")[2]: own_children, "_parameters": own_parameters, "_buffers": own_buffers}
"""What a module has, by the names under which Dynamo's expressions look for it."""
left_out = attribute(
    "torch.nn:Module._non_persistent_buffers_set",
    "the buffers that are in no state_dict",
    without="which buffers a checkpoint has to hold is not known",
)

_RENAMED = "whether a module renames or reshapes what it loads"
_UNTOLD = "how a module changes a state_dict before loading it is not known"
loader_of = attribute("torch.nn:Module._load_from_state_dict", _RENAMED, without=_UNTOLD)
loading_hooks_of = attribute("torch.nn:Module._load_state_dict_pre_hooks", _RENAMED, without=_UNTOLD)
metadata_of = attribute(
    "torch.nn:Module.state_dict._metadata",
    "whether a state_dict has the version numbers that modules add",
    without="the module version of a state_dict is not known",
)

_REORDERED = "whether hooks bring the state that an optimizer loads into another order"
_MISNAMED = "state that an optimizer loaded for other parameters is not named"
_BEFORE, _AFTER = "_optimizer_load_state_dict_pre_hooks", "_optimizer_load_state_dict_post_hooks"
LOADING_HOOKS_TOLD = all(
    [
        inline(f"torch.optim:Optimizer.{_BEFORE}", _REORDERED, without=_MISNAMED),
        inline(f"torch.optim:Optimizer.{_AFTER}", _REORDERED, without=_MISNAMED),
    ]
)


def has_loading_hooks(optimizer: object) -> bool:
    """Whether the program registered any, or may have."""
    return not LOADING_HOOKS_TOLD or any(getattr(optimizer, hooks, None) for hooks in (_BEFORE, _AFTER))


_WITHIN = "whether the program's own hooks run within the steps of an optimizer"
_UNKNOWN = "what hooks of the program write within a step is not known"
_BEFORE_STEP, _AFTER_STEP = "_optimizer_step_pre_hooks", "_optimizer_step_post_hooks"
STEP_HOOKS_TOLD = all(
    [
        inline(f"torch.optim:Optimizer.{_BEFORE_STEP}", _WITHIN, without=_UNKNOWN),
        inline(f"torch.optim:Optimizer.{_AFTER_STEP}", _WITHIN, without=_UNKNOWN),
    ]
)


def has_step_hooks(optimizer: object) -> bool:
    """Whether the program registered any, or may have."""
    return not STEP_HOOKS_TOLD or any(getattr(optimizer, hooks, None) for hooks in (_BEFORE_STEP, _AFTER_STEP))
