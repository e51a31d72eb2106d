"""Reports on what exists already: nothing is run."""

from __future__ import annotations

from torch import Tensor, nn
from torch.optim import Optimizer

from autograd_inspector.capture.existing import capture_graph, capture_model, capture_optimizer
from autograd_inspector.report import Report, report_of


def inspect_graph(*roots: Tensor, model: nn.Module | None = None) -> Report:
    """The autograd graph behind one or more tensors, as it stands now.

    ``model`` gives names to the parameters. Raises TypeError for anything but tensors.
    """
    for root in roots:
        if not isinstance(root, Tensor):
            raise TypeError(f"inspect_graph: expected a torch.Tensor, got {type(root).__name__}")
    if not roots:
        raise TypeError("inspect_graph: give it at least one tensor, e.g. inspect_graph(loss)")
    return report_of(capture_graph(roots, model))


def inspect_optimizer(optimizer: Optimizer, model: nn.Module | None = None) -> Report:
    """Where the parameters, gradients and state of an optimizer live.

    With ``model`` also: which of its parameters the optimizer does not hold, and which it holds that the model does
    not have. Raises TypeError when ``optimizer`` is no torch.optim.Optimizer.
    """
    inner = getattr(optimizer, "optimizer", optimizer)  # LightningOptimizer and AcceleratedOptimizer wrap one.
    if not isinstance(inner, Optimizer):
        raise TypeError(f"inspect_optimizer: expected a torch.optim.Optimizer, got {type(optimizer).__name__}")
    return report_of(capture_optimizer(inner, model))


def inspect_model(model: nn.Module) -> Report:
    """The parameters of a model: shapes, devices, gradients, what is frozen."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"inspect_model: expected a torch.nn.Module, got {type(model).__name__}")
    return report_of(capture_model(model))
