"""A copy of a model and its optimizer on which a step can be tried, and what keeps the originals out of it."""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any

from torch import Tensor, nn
from torch.nn.modules import module as hooks
from torch.optim import Optimizer

from autograd_inspector.capture.module_tree import modules_of, named_modules, parameters_of
from autograd_inspector.capture.tensors.attributes import is_leaf
from autograd_inspector.capture.undisturbed.installing import Installation


class PreflightError(RuntimeError):
    """The arguments cannot be tried; the message is one line that says what to do."""


class ModelCopy:
    """Copies of a model, an optimizer and a batch: parameters that were shared are shared again."""

    def __init__(self, model: nn.Module, optimizer: Optimizer, batch: Any) -> None:
        memo: dict[int, Any] = {}
        try:
            self.model: nn.Module = copy.deepcopy(model, memo)
        except Exception as failure:
            raise PreflightError(_why_not(model, failure)) from None
        self.optimizer = _copied(optimizer, memo)
        self.batch = _copied_batch(batch, memo)
        self.of: dict[int, Tensor] = {}
        """Python's id of an original parameter -> its copy."""
        pairs = zip(parameters_of_both(model, optimizer), parameters_of_both(self.model, self.optimizer), strict=True)
        for original, twin in pairs:
            self.of[id(original)] = twin
            twin.grad = None


def parameters_of_both(model: nn.Module, optimizer: Optimizer) -> list[Tensor]:
    """Each parameter of either, once."""
    held = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    return list({id(each): each for each in (*parameters_of(model), *held)}.values())


def _copied(optimizer: Optimizer, memo: dict[int, Any]) -> Optimizer:
    """The optimizer over the copied parameters, with copied state.

    ``copy.deepcopy(optimizer)`` would keep only groups and state, which LBFGS and others cannot step with. Hooks stay
    away, and methods replaced on the instance: a scheduler puts a ``step`` there that steps the original.
    """
    twin: Optimizer = object.__new__(type(optimizer))
    memo[id(optimizer)] = twin
    try:
        for name, value in vars(optimizer).items():
            if name.endswith("_hooks"):
                vars(twin)[name] = OrderedDict()
            elif not (callable(value) and hasattr(type(optimizer), name)):
                vars(twin)[name] = copy.deepcopy(value, memo)
    except Exception as failure:
        raise PreflightError(
            f"preflight: {type(optimizer).__name__} cannot be copied ({type(failure).__name__}: {_line(failure)})"
        ) from None
    return twin


def _copied_batch(batch: Any, memo: dict[int, Any]) -> Any:
    """A step may change its batch; what cannot be copied is given as it is."""
    try:
        return copy.deepcopy(batch, memo)
    except Exception:
        return batch


def _why_not(model: nn.Module, failure: Exception) -> str:
    """One line: what keeps the model from being copied, and what to do."""
    for path, module in named_modules(model):
        for name, value in vars(module).items():
            if isinstance(value, Tensor) and not is_leaf(value):
                where = f"{path}.{name}" if path else name
                return (
                    f"preflight: {type(model).__name__} cannot be copied: {where} is a tensor with a graph; keep "
                    f"{where}.detach() there, or delete it before preflight"
                )
    return (
        f"preflight: {type(model).__name__} cannot be copied ({type(failure).__name__}: {_line(failure)}); "
        "remove the object that holds it, or pass preflight a fresh model and its optimizer"
    )


def _line(failure: Exception) -> str:
    return (str(failure).splitlines() or [""])[0]


def leave_alone(into: Installation, model: nn.Module, optimizer: Optimizer) -> None:
    """The originals are not run, and keep their gradients, whatever a loss function has in its closure."""
    gradients = [(parameter, parameter.grad) for parameter in parameters_of_both(model, optimizer)]
    original_ids = {id(module) for module in modules_of(model)}

    def refuse(module: nn.Module, _args: Any) -> None:
        if id(module) in original_ids:
            raise PreflightError(
                f"preflight: loss_fn ran the {type(module).__name__} of the model itself; use the model that is "
                "passed to it, which is a copy: loss_fn(model, batch)"
            )

    def give_back() -> None:
        for parameter, gradient in gradients:
            parameter.grad = gradient

    into.made(give_back)
    for parameter, _ in gradients:
        parameter.grad = None
    into.hook(hooks.register_module_forward_pre_hook, refuse)
