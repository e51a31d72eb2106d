"""Updates of the program's own that use the gradients of one backward again and again, while new ones go unread."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.clearing import clearings
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import GradRead
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op
from autograd_inspector.model.program_events import GradientsGone, ModuleCleared, ZeroGradCalled
from autograd_inspector.model.wording import agree, summarize_names
from autograd_inspector.rules.ag305_gradient_protocol.updates_by_hand import updates

_NEAR = 8
"""Ops between a gradient and an update with it: a rate, a clip, a weight decay."""
_FEWEST = 2
"""Backwards since, whose own gradients nobody reads: after one, the old gradient may take a step back."""


class Outlived(Struct, frozen=True):
    """``update`` used what ``read`` got of ``.grad`` before the ``runs``, which made new gradients of the parameter."""

    read: GradRead
    update: Op
    runs: tuple[Backward, ...]


def outlived_gradients(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that keeps them."""
    by_site: dict[int, dict[int, Outlived]] = {}
    reads: dict[int, list[GradRead]] = {}
    for read in analysis.capture.grad_reads:
        if read.gradient >= 0 and not read.asks:
            reads.setdefault(read.tensor, []).append(read)
    last = {update.parameter: update.op for update in (updates(analysis) if reads else ()) if update.kept}
    for parameter, op in last.items():
        found = _outlived(analysis, parameter, op, reads.get(parameter, []))
        if found is not None:
            by_site.setdefault(found.read.site, {})[parameter] = found
    for site, found_by_parameter in by_site.items():
        yield _problem(analysis, site, found_by_parameter)


def _outlived(analysis: Analysis, parameter: int, op: Op, reads: list[GradRead]) -> Outlived | None:
    read = reads[0] if len({read.gradient for read in reads}) == 1 else None
    if read is None or read.at > op.index or not _computed_from(analysis, op, read.gradient):
        return None
    later = [
        run
        for run in analysis.capture.completed_runs
        if run.start >= read.at and run.end <= op.index and parameter in run.reached
    ]
    # A stale gradient was added to: it is the same tensor, with the new values.
    if len(later) < _FEWEST or any(parameter in run.stale or parameter in run.empty for run in later):
        return None
    return Outlived(read, op, tuple(later))


def _computed_from(analysis: Analysis, op: Op, gradient: int) -> bool:
    tensors = [*op.inputs]
    for _ in range(_NEAR):
        if gradient in tensors or not tensors:
            return gradient in tensors
        made = [
            birth for tensor in tensors if (birth := analysis.flow.birth(tensor)) is not None and not birth.recorded
        ]
        tensors = [read for birth in made for read in birth.inputs]
    return False


def _problem(analysis: Analysis, site: int, found: dict[int, Outlived]) -> Problem:
    names = [name_of(analysis, tensor) for tensor in found]
    last = next(iter(found.values()))
    place = analysis.capture.place(site)
    holder = place.target if place is not None and place.target else ""
    keeps = f"`{holder}` keeps" if holder else "the program keeps"
    calls = [call for tensor in found for call in clearings(analysis, [tensor], last.read.at, last.runs[-1].start)]
    call: ZeroGradCalled | ModuleCleared | GradientsGone | None = calls[0] if calls else None
    by = f" ({call.api} sets .grad to None in between)" if call is not None else ""
    return Problem(
        "warning",
        f"{summarize_names(names)} {agree(names, 'is', 'are')} updated with the gradients of an earlier backward() each time: "
        f"{keeps} the .grad tensors of then, and each later backward() stores its gradients in new tensors, which nothing "
        f"reads{by}",
        "Read `.grad` again for each update, or keep the tensors: `zero_grad(set_to_none=False)` sets them to zero, and the next "
        "backward() adds to them.",
        analysis.places(
            (call, "set to None here"),
            (site, ".grad read here, once"),
            (last.runs[-1], "new gradients computed here"),
            (last.update, "updated with the old gradients here"),
        ),
        (*names, *filter(None, (holder,))),
        ops=tuple(each.update.index for each in found.values()),
    )
