"""AG601 where a mean over one rank's data is multiplied by the number of ranks, and the wrapper averages over them."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.own_counts import multiplied_by_ranks
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def own_means(analysis: Analysis) -> Iterator[Problem]:
    """One finding, about the first step of that kind."""
    for found in multiplied_by_ranks(analysis.capture, analysis.reductions):
        names, kind, world = names_of(analysis, found.tensors), found.wrapper.type, found.wrapper.world
        yield Problem(
            "warning",
            f"the loss is a mean over the data of this rank, `{found.by.name}` multiplies it by {world}, the number of ranks, and {kind} "
            f"averages the {agree(names, 'gradient', 'gradients')} of {summarize_names(names)}: the step is {world} times as large as "
            f"in a single process. The count that {found.call.name} collects from all ranks is not used in the loss",
            "Divide the sum of the losses by the count of all ranks: a loss function of a transformers Trainer gets it as "
            "`num_items_in_batch`. Or do not multiply the loss by the number of ranks: "
            "`TrainingArguments(average_tokens_across_devices=False)`.",
            analysis.places(
                (found.mean, "mean of this rank's losses taken here"),
                (found.by, "multiplied here"),
                (found.call, f"{found.call.name} called here"),
                (found.reached.step, "step() called here"),
            ),
            tuple(names),
            ops=(found.by.index, found.reached.step.op),
        )
