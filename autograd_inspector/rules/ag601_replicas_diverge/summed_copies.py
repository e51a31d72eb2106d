"""AG601 where a backward sums gradients of which each rank has the whole already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from autograd_inspector.model.finding import Across, Problem
from autograd_inspector.model.rank_summary import Done, RankSummary


def summed_copies(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """One finding: the first line where all ranks give the same to each sum."""
    first, *others = ranks
    for at, done in enumerate(ranks[first].summed_back):
        lines = [summary.summed_back[at] for summary in ranks.values() if at < len(summary.summed_back)]
        alike = len(lines) == len(ranks) and bool(others) and all(line.places == done.places for line in lines)
        if alike and _whole(lines):
            world = len(ranks)
            yield (
                Problem(
                    "warning",
                    f"backward() sums a gradient over {world} ranks that all of them have whole: what is computed before {done.api} gets "
                    f"{world} times its gradient",
                    "Sum in the forward only: a Function whose forward calls all_reduce and whose backward returns the gradient unchanged. "
                    "torch.distributed.nn.functional.all_reduce sums in both, which is right where ranks compute different losses.",
                    done.places,
                    (done.api,),
                ),
                tuple(ranks),
            )
            return


def _whole(lines: list[Done]) -> bool:
    """Whether ranks give different things to the sums of the forward, and the same to those of backward."""
    there, back = zip(*(line.value.split(":") for line in lines), strict=True)
    return len(set(back)) == 1 and len(set(there)) == len(lines)
