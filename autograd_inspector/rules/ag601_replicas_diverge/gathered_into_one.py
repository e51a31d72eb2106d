"""AG601 where what several ranks send is received into one tensor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.finding import Problem


def gathered_into_one(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that gathers into a list which has the same tensor more than once."""
    met: set[int] = set()
    for event in analysis.reductions.exchanges.calls:
        most = max(Counter(event.tensors[:-1]).values(), default=0)  # The last one is what this rank sends.
        if most < 2 or not is_a(event.name, OpKind.OF_ONE_SIZE) or event.site in met:
            continue
        met.add(event.site)
        yield Problem(
            "error",
            f"the list that {event.name} receives into has one tensor {most} times: each rank's part overwrites that of the rank "
            "before it, and only one of them is left",
            "Create a tensor for each rank: `[torch.empty_like(x) for _ in range(dist.get_world_size())]`, instead of a list "
            "with one tensor that is repeated by `*`.",
            analysis.places((event, f"{event.name} called here")),
            ops=(event.at,),
        )
