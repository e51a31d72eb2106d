"""AG601 where a rank computes its loss with its own summand of a distributed tensor."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.summands import summands_used
from autograd_inspector.model.finding import Problem


def summands_for_sums(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that takes one."""
    for found in summands_used(analysis.capture):
        yield Problem(
            "error",
            f"to_local() returns what this rank adds to a sum (the DTensor is Partial), and `{found.by.name}` computes with it as if it were "
            "the sum: the ranks train on different losses, all of them wrong",
            "Sum first: `x.redistribute(placements=[Replicate()]).to_local()`, or `output_layouts=Replicate()` in the plan of "
            "parallelize_module.",
            analysis.places(
                (found.taken, "summand taken here"),
                (found.by, "computed with here"),
                (found.run, "backward() called here"),
            ),
            ("to_local",),
            ops=(found.by.index,),
        )
