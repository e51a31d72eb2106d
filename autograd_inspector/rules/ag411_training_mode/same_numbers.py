"""AG411 where a seed that is set in each round makes dropouts drop the same values in all of them."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.same_random_numbers import same_random_numbers
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import counted


def same_numbers(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that seeds."""
    for found in same_random_numbers(analysis):
        api = f"torch.manual_seed({found.seeded.seed})"
        yield Problem(
            "warning",
            f"{api} is called before each of {counted(found.rounds, 'step')}: `{found.drawn.name}` draws the same random "
            "numbers in all of them",
            "Seed once, before training. If a part needs fixed numbers, pass it a separate generator: "
            "`generator=torch.Generator().manual_seed(seed)`; or call it under `torch.random.fork_rng()`.",
            analysis.places(
                (found.seeded, "seeded again here"),
                (found.drawn, "same numbers drawn here"),
                (found.step, "step() uses them here"),
            ),
            (api, found.drawn.name),
            ops=(found.drawn.index,),
        )
