"""What is frozen requires grad again in time."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.remedies.meeting import meeting
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.remedy import Remedies
from autograd_inspector.model.rewrites import Unfreeze


def thawed_before(analysis: Analysis, frozen: int, reader: int) -> Iterator[Remedies]:
    """Before what reads it at the second site: what is frozen at the first one."""
    pair, own = meeting(analysis, frozen, reader), analysis.user_frames(frozen, "")[:1]
    if pair is not None and own:
        yield (Unfreeze(own[0], pair[1]),)
