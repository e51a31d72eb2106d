"""AG501: backward through a graph that is gone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograd_inspector.advice.carried_graphs import carried_name, carry_cures, carry_fix, used_too_early
from autograd_inspector.advice.kept_tensors import kept_as, kept_by, kept_places, siblings_cut_off
from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.older_graphs import older_graph
from autograd_inspector.advice.remedies.rebound import kept_leaf, written_into_leaf
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.carried_over import given_graph
from autograd_inspector.analysis.earlier_graphs.freed import carried_graph, is_written_again, last_freer, parts_of
from autograd_inspector.analysis.gradients.rebound import Rebound, rebound
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.torch_errors import TorchError, says
from autograd_inspector.rules.ag501_graph_freed.cache_used_up import cache_used_up
from autograd_inspector.rules.ag501_graph_freed.outdated_values import outdated_values
from autograd_inspector.rules.ag501_graph_freed.shared_graph import (
    backwards,
    part_of_one_round,
    stepped_between,
    two_losses,
)
from autograd_inspector.rules.ag501_graph_freed.written_graph import written_graph


def check(analysis: Analysis) -> Iterator[Problem]:
    """backward() runs through a graph that an earlier backward() freed; the finding names the tensor that carried it.

    Why it matters
        backward() frees the saved tensors of the graph it ran through. A hidden state, a cached feature or a loss that
        is carried into the next iteration still refers to the freed graph. If an attribute or a container of the program
        holds the tensor, the line that stored it comes first. A graph without saved tensors (`w.repeat(3)`) raises nothing:
        it returns a gradient each time, for values that are no longer those of the parameter.

    Example
        ::

            features = encoder(x)
            for _ in range(2):
                head(features.tanh()).pow(2).mean().backward()

    Fix
        ::

            for _ in range(2):
                features = encoder(x)
                head(features.tanh()).pow(2).mean().backward()

    References
        torch.Tensor.backward (retain_graph); "truncated backpropagation through time" for hidden states.
    """
    yield from outdated_values(analysis)
    yield from cache_used_up(analysis)
    for run in analysis.capture.backwards:
        if says(run.error, TorchError.GRAPH_FREED):
            earlier = analysis.timeline.completed_before(run)
            older = older_graph(analysis, run, earlier)
            if older is not None:
                yield older
            elif earlier:
                yield written_graph(analysis, run, earlier) or _freed(analysis, run, earlier)


def _freed(analysis: Analysis, run: Backward, earlier: Sequence[Backward]) -> Problem:
    carried = carried_graph(analysis, run, last_freer(analysis, run, earlier))
    if carried is None:
        return two_losses(analysis, run, earlier)
    reader, tensor, freed_by = carried
    made, written = analysis.flow.birth(tensor), given_graph(analysis.capture, analysis.flow, tensor, freed_by.end)
    if written is not None and is_written_again(analysis, tensor, freed_by, run):
        return two_losses(analysis, run, earlier)
    whole = part_of_one_round(analysis, run, earlier, made)
    if whole is not None:
        return whole
    stands_in = rebound(analysis, reader)
    if stands_in is not None:
        return _replaced(analysis, run, freed_by, stands_in)
    name = carried_name(analysis, reader, tensor)
    unstepped = not stepped_between(analysis, freed_by, run)
    early = used_too_early(analysis, carried)
    return Problem(
        "error",
        f"{name}{kept_as(kept_by(analysis, tensor), name)} is used in `{reader.name}` and carries a graph that an earlier backward() already freed: "
        "backward() runs through it a second time",
        carry_fix(analysis, (reader, tensor, freed_by), run, unstepped=unstepped),
        (
            *(analysis.user_frames(freed_by.site, "graph freed here") if freed_by.api == "grad" and unstepped else ()),
            *kept_places(analysis, kept_by(analysis, tensor)),
            *analysis.places(
                (written, "given its graph here"),
                (early, f"{name} is used here, with its graph, by the loss that frees it"),
                *(
                    (op, f"{name_of(analysis, op.inputs[0])} is detached, {name} is not")
                    for op in siblings_cut_off(analysis, reader, made)
                ),
                (made, "carried over from here"),
                *((op, "computed here") for op in parts_of(analysis, made)),
                (reader, "used again here"),
            ),
            *backwards(analysis, freed_by, run),
        ),
        (name,),
        ops=(reader.index,),
        cures=tuple(carry_cures(analysis, (reader, tensor, freed_by), run, unstepped=unstepped)),
    )


def _replaced(analysis: Analysis, run: Backward, freed_by: Backward, found: Rebound) -> Problem:
    """The variable of an optimizer's leaf has something else in it by now, with the graph of all rounds."""
    name = name_of(analysis, found.leaf)
    return Problem(
        "error",
        f"{name} was replaced by a tensor computed from it, and carries a graph that an earlier backward() already freed: "
        f"the optimizer still holds the first {name}",
        written_into_leaf(name),
        (*analysis.places((found.made, "replaced here")), *backwards(analysis, freed_by, run)),
        (name,),
        ops=(found.made.index,),
        cures=tuple(kept_leaf(analysis, found)),
    )
