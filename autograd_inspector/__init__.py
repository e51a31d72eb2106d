"""Interactive autograd inspector: where gradient stops, who spoiled a saved tensor, where optimizer state lives."""

from autograd_inspector.inspection import inspect
from autograd_inspector.report import Report

__version__ = "0.1.0"
__all__ = ["Report", "__version__", "inspect"]
