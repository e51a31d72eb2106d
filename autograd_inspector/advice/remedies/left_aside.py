"""What was computed and left aside: a loss that is no part of the one that backward() is called on, a result."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.losses_without_backward import losses
from autograd_inspector.model.op import Op
from autograd_inspector.model.remedy import Remedies, Substitute
from autograd_inspector.model.rewrites import ReturnAtEnd


def counted_in(analysis: Analysis, parameters: Collection[int]) -> Iterator[Remedies]:
    """backward() is called on the sum with the other loss; on that one alone, where it is the sum already."""
    capture = analysis.capture
    runs = [run for run in capture.completed_runs if run.api == "backward"]
    if not runs or not runs[-1].roots:
        return
    run, place = runs[-1], capture.place(runs[-1].site)
    since = max((other.end for other in runs[:-1]), default=0)
    root = capture.tensors[run.roots[0]].variable
    if place is None or not root.isidentifier():
        return
    for op in losses(capture, parameters, since, run.start):
        name = next((v for t in op.outputs if (v := capture.tensors[t].variable).isidentifier()), "")
        here = any(frame.scope == place.scope and frame.target == name for frame in capture.site(op.site))
        if name and name != root and here:
            above = analysis.flow.upstream([(t, op.index + 1) for t in op.outputs])
            whole = any(run.roots[0] in made.inputs for made, _ in above)
            yield (Substitute(place, root, name if whole else f"{{}} + {name}"),)


def returned_too(analysis: Analysis, parameters: Collection[int]) -> Iterator[Remedies]:
    """The function that computed something for nobody, and returned nothing, returns it."""
    training = {frame.scope for run in analysis.capture.backwards for frame in analysis.capture.site(run.site)}
    for op in _unread(analysis, parameters):
        place = analysis.capture.place(op.site)
        if place is not None and place.scope not in training and place.target.isidentifier():
            yield (ReturnAtEnd(place, place.target),)
            return


def _unread(analysis: Analysis, parameters: Collection[int]) -> Iterator[Op]:
    """The last ops computed from them whose results nothing reads."""
    live = set(parameters)
    for op in analysis.capture.ops:
        if op.recorded and not live.isdisjoint(op.inputs):
            live.update(op.outputs)
            if op.outputs and not any(analysis.capture.readers.get(t) for t in op.outputs):
                yield op
