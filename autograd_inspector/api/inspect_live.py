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
    """The current autograd graph of one or more tensors.

    ``model`` provides names for the parameters. Raises TypeError for anything except tensors.
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
    """Where the parameters, gradients and state of an optimizer are, or of several optimizers that share a model.

    With one or more models, the report also lists parameters that are in no optimizer, and parameters that an optimizer
    holds but no model has. Wrappers are unwrapped: LightningOptimizer, accelerate's AcceleratedOptimizer,
    ZeroRedundancyOptimizer. Raises TypeError if ``optimizer`` is not a torch.optim.Optimizer or ``model`` is not a
    module.
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
    """The parameters of a model: shapes, devices, gradients, and which are frozen."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"inspect_model: expected a torch.nn.Module, got {type(model).__name__}")
    return report_of(capture_model(model))


def inspect_checkpoint(
    checkpoint: str | os.PathLike[str] | Mapping[str, Any],
    model: nn.Module | None = None,
    optimizer: Optimizer | None = None,
) -> Report:
    """What loading a checkpoint into a model and an optimizer would do, without loading it.

    ``checkpoint`` is a file written by torch.save (always opened with ``weights_only=True`` and memory-mapped), a
    .safetensors file, a folder of sharded files, or a loaded dict. Without model and optimizer, the report lists the
    contents. Only names, shapes, dtypes and devices are read; nothing is copied or changed.

    Raises CheckpointError (a ValueError, in one line) if the file is missing, damaged, of an unknown format, or would
    run code, and TypeError for arguments of the wrong type.

    See torch.load, torch.nn.Module.load_state_dict, torch.optim.Optimizer.load_state_dict.
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
