"""Updates of the program's own that use the gradients of one backward again and again, while new ones go unread."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.clearing import clearings
from autograd_inspector.analysis.gradients.outlived import outlived_by_line
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import GradientsGone, ModuleCleared, ZeroGradCalled
from autograd_inspector.model.wording import agree, summarize_names


def outlived_gradients(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that keeps them."""
    for site, found in outlived_by_line(analysis):
        names = [name_of(analysis, tensor) for tensor in found]
        last = next(iter(found.values()))
        place = analysis.capture.place(site)
        holder = place.target if place is not None and place.target else ""
        keeps = f"`{holder}` keeps" if holder else "the program keeps"
        calls = [call for tensor in found for call in clearings(analysis, [tensor], last.read.at, last.runs[-1].start)]
        call: ZeroGradCalled | ModuleCleared | GradientsGone | None = calls[0] if calls else None
        by = f" ({call.api} sets .grad to None in between)" if call is not None else ""
        yield Problem(
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
