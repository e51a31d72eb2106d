"""What the program calls its optimizers."""

from __future__ import annotations

import re

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.location import Location
from autograd_inspector.model.placement_rows import OptimizerRecord

TARGET = re.compile(r"[A-Za-z_][\w.]*")


def variable(analysis: Analysis, optimizer: OptimizerRecord) -> str:
    """What the program calls the optimizer, as far as the statement that made it tells."""
    frames = [frame for frame in analysis.capture.site(optimizer.site) if not frame.library]
    made = next((frame for frame in frames if not _passes_on(frame)), None)
    target = made.target if made is not None else ""
    return target if TARGET.fullmatch(target) else "optimizer"


def _passes_on(frame: Location) -> bool:
    """Whether the statement that holds the object is further out: a class that extends torch's, or a factory."""
    returned = frame.source.partition("#")[0].strip() == f"return {frame.expression}"
    return frame.expression.startswith("super().__init__") or (bool(frame.expression) and returned)
