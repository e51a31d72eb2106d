"""How a checkpoint is called otherwise."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.op import Op
from autograd_inspector.model.remedy import Remedies, SetArgument, SetEverywhere


def not_reentrant(analysis: Analysis, op: Op) -> Iterator[Remedies]:
    """A checkpoint that records what it computes: by its own call, else where the program sets that for a library."""
    frames = analysis.user_frames(op.site, "")
    yield from ((SetArgument(place, "checkpoint", "use_reentrant", "False"),) for place in frames[:1])
    yield from ((SetEverywhere(place, "use_reentrant", "True", "False"),) for place in frames)
