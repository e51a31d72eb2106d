"""Reports on what exists already: nothing is run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from autograd_inspector.api.report import Report, report_of
from autograd_inspector.capture.checkpoint_files.opening import capture_checkpoint
from autograd_inspector.capture.existing import capture_graph, capture_model, capture_optimizers
from autograd_inspector.capture.observers.optimizers.placement import unwrapped


def inspect_graph(*roots: Tensor, model: nn.Module | None = None) -> Report:
    """The autograd graph behind one or more tensors, as it stands now.

    ``model`` gives names to the parameters. Raises TypeError for anything but tensors.
    """
    for root in roots:
        if not isinstance(root, Tensor):
            raise TypeError(f"inspect_graph: expected a torch.Tensor, got {type(root).__name__}")
    if not roots:
        raise TypeError("inspect_graph: pass at least one tensor, e.g. inspect_graph(loss)")
    return report_of(capture_graph(roots, model))


def inspect_optimizer(
    optimizer: Optimizer | Iterable[Optimizer], model: nn.Module | Iterable[nn.Module] | None = None
) -> Report:
    """Where the parameters, gradients and state of an optimizer, or of several that share a model, live.

    With ``model``, or several, also: which of their parameters no optimizer holds, and which the optimizers hold that
    no model has. Wrappers are looked through: LightningOptimizer, accelerate's AcceleratedOptimizer,
    ZeroRedundancyOptimizer. Raises TypeError when ``optimizer`` is no torch.optim.Optimizer, or ``model`` no module.
    """
    optimizers: list[Any] = [optimizer]
    if isinstance(optimizer, Iterable) and not isinstance(optimizer, (Tensor, nn.Module, str)):
        optimizers = list(optimizer)
    inner_optimizers = [unwrapped(each) for each in optimizers]
    for each, inner in zip(optimizers, inner_optimizers, strict=True):
        if not isinstance(inner, Optimizer):
            raise TypeError(f"inspect_optimizer: expected a torch.optim.Optimizer, got {type(each).__name__}")
    if not inner_optimizers:
        raise TypeError("inspect_optimizer: pass at least one optimizer, e.g. inspect_optimizer(optimizer, model)")
    return report_of(capture_optimizers(inner_optimizers, *_modules(model)))


def _modules(models_argument: nn.Module | Iterable[nn.Module] | None) -> list[nn.Module]:
    if models_argument is None:
        return []
    models = (
        [models_argument]
        if isinstance(models_argument, nn.Module) or not isinstance(models_argument, Iterable)
        else list(models_argument)
    )
    for model in models:
        if not isinstance(model, nn.Module):
            raise TypeError(f"inspect_optimizer: expected a torch.nn.Module, got {type(model).__name__}")
    return models


def inspect_model(model: nn.Module) -> Report:
    """The parameters of a model: shapes, devices, gradients, what is frozen."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"inspect_model: expected a torch.nn.Module, got {type(model).__name__}")
    return report_of(capture_model(model))


def inspect_checkpoint(
    checkpoint: str | os.PathLike[str] | Mapping[str, Any],
    model: nn.Module | None = None,
    optimizer: Optimizer | None = None,
) -> Report:
    """What loading a checkpoint into a model and an optimizer would do, before anything is loaded.

    ``checkpoint`` is what torch.save wrote (opened with ``weights_only=True`` and mapped, whatever the file asks for),
    a .safetensors file, a folder of sharded ones, or a dict that is loaded already. Without model and optimizer the
    report tells what it holds. Only names, shapes, dtypes and devices are read; nothing is copied or changed.

    Raises CheckpointError (a ValueError) in one line when it is missing, damaged, foreign, or would run code; TypeError
    for arguments of another kind.

    Facts: torch.load, torch.nn.Module.load_state_dict, torch.optim.Optimizer.load_state_dict.
    """
    source: Any = checkpoint
    if not isinstance(source, (str, os.PathLike, Mapping)):
        instead = "; pass its state_dict()" if hasattr(source, "state_dict") else ""
        raise TypeError(
            f"inspect_checkpoint: expected a path or a dict as checkpoint, got {type(source).__name__}{instead}"
        )
    if model is not None and not isinstance(model, nn.Module):
        raise TypeError(f"inspect_checkpoint: expected a torch.nn.Module as model, got {type(model).__name__}")
    inner = None if optimizer is None else unwrapped(optimizer)
    if inner is not None and not isinstance(inner, Optimizer):
        raise TypeError(
            f"inspect_checkpoint: expected a torch.optim.Optimizer as optimizer, got {type(optimizer).__name__}"
        )
    return report_of(capture_checkpoint(checkpoint, model, inner))
