"""Lines of the program that it is better without."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.event import TensorHook
from autograd_inspector.model.remedy import Remedies, Remove, RunOnce
from autograd_inspector.model.rewrites import InConstructor


def left_out(analysis: Analysis, site: int) -> Iterator[Remedies]:
    """The statement that ran at a site, in the innermost function of the program."""
    yield from at_line(analysis, site, Remove)


def unhooked(analysis: Analysis, hook: TensorHook) -> Iterator[Remedies]:
    """The registration of a hook; where it was registered before the block, that place is not known."""
    if not hook.older:
        yield from left_out(analysis, hook.site)


def made_once(analysis: Analysis, site: int) -> Iterator[Remedies]:
    """What a loop makes in each round is made before it; a call that computes something besides stays where it is."""
    frames = analysis.user_frames(site, "")
    computing = {frame.line for op in analysis.capture.ops for frame in analysis.capture.site(op.site)}
    own = (*frames[:1], *(frame for frame in frames[1:] if frame.line not in computing))
    yield from ((RunOnce(place),) for place in own)
    yield from ((InConstructor(place),) for place in own)
