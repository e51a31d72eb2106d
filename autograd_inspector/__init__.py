"""See what autograd recorded: where gradient stops, who spoiled a saved tensor, where optimizer state lives."""

from typing import Any

from autograd_inspector.failure import AutogradFindingsError
from autograd_inspector.inspection import inspect
from autograd_inspector.live import inspect_checkpoint, inspect_graph, inspect_model, inspect_optimizer
from autograd_inspector.model.checkpoint import CheckpointError
from autograd_inspector.report import Report

__version__ = "0.1.0"
__all__ = [
    "AutogradFindingsError",
    "CheckpointError",
    "Report",
    "__version__",
    "inspect",
    "inspect_checkpoint",
    "inspect_graph",
    "inspect_model",
    "inspect_optimizer",
]


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext autograd_inspector`` brings the magics; IPython is imported only here."""
    from autograd_inspector.magic import load_ipython_extension as load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext autograd_inspector`` takes everything away again."""
    from autograd_inspector.magic import unload_ipython_extension as unload

    unload(shell)
