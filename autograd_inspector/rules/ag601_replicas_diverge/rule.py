"""AG601: replicas of a model that do not stay equal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.finding import Across, Problem
from autograd_inspector.model.rank_summary import RankSummary
from autograd_inspector.model.ranks import RankedPlacement
from autograd_inspector.rules.ag601_replicas_diverge.carried_wrongly import carried_wrongly
from autograd_inspector.rules.ag601_replicas_diverge.comm_hooks import hooked_reductions
from autograd_inspector.rules.ag601_replicas_diverge.counted_by_all import counted_by_all
from autograd_inspector.rules.ag601_replicas_diverge.divided_again import divided_again
from autograd_inspector.rules.ag601_replicas_diverge.gathered_into_one import gathered_into_one
from autograd_inspector.rules.ag601_replicas_diverge.groups_of_one import groups_of_one
from autograd_inspector.rules.ag601_replicas_diverge.layers_parted import layers_parted
from autograd_inspector.rules.ag601_replicas_diverge.left_over import left_over_used
from autograd_inspector.rules.ag601_replicas_diverge.left_statistics import statistics_left
from autograd_inspector.rules.ag601_replicas_diverge.local_clipping import clipped_alone
from autograd_inspector.rules.ag601_replicas_diverge.local_norms import scaled_by_local_norms
from autograd_inspector.rules.ag601_replicas_diverge.lost_entries import entries_lost
from autograd_inspector.rules.ag601_replicas_diverge.mixed_parts import mixed_parts
from autograd_inspector.rules.ag601_replicas_diverge.not_reduced import by_the_program, by_wrappers
from autograd_inspector.rules.ag601_replicas_diverge.others_rows import compared_with_others
from autograd_inspector.rules.ag601_replicas_diverge.outer_steps import outer_steps
from autograd_inspector.rules.ag601_replicas_diverge.overwritten import gradients_overwritten
from autograd_inspector.rules.ag601_replicas_diverge.own_means import own_means
from autograd_inspector.rules.ag601_replicas_diverge.parted import parted
from autograd_inspector.rules.ag601_replicas_diverge.parts_parted import parts_parted
from autograd_inspector.rules.ag601_replicas_diverge.past_reducer import asked_past_reducer
from autograd_inspector.rules.ag601_replicas_diverge.pending import used_while_running
from autograd_inspector.rules.ag601_replicas_diverge.ranks import compared
from autograd_inspector.rules.ag601_replicas_diverge.sent_again import sums_sent_back
from autograd_inspector.rules.ag601_replicas_diverge.sent_graphs import graphs_sent
from autograd_inspector.rules.ag601_replicas_diverge.shards import unsynced_shards
from autograd_inspector.rules.ag601_replicas_diverge.shares_lost import shares_lost
from autograd_inspector.rules.ag601_replicas_diverge.stale_lists import replaced_averaged
from autograd_inspector.rules.ag601_replicas_diverge.summands import summands_for_sums
from autograd_inspector.rules.ag601_replicas_diverge.summed_again import summed_again
from autograd_inspector.rules.ag601_replicas_diverge.summed_copies import summed_copies
from autograd_inspector.rules.ag601_replicas_diverge.summed_shards import summed_shards
from autograd_inspector.rules.ag601_replicas_diverge.sums_lost import sums_lost
from autograd_inspector.rules.ag601_replicas_diverge.undivided import undivided_sums
from autograd_inspector.rules.ag601_replicas_diverge.weights_exchanged import weights_exchanged


def check(analysis: Analysis) -> Iterator[Problem]:
    """A step uses gradients from one rank only, although they should have been reduced over the ranks.

    Why it matters
        Data parallelism works as long as every replica makes the same step. A direct call of the model
        inside DistributedDataParallel, a `no_sync()` around the last micro-batch, a module outside the wrapper, or a
        reduction after the step makes the replicas diverge. Nothing raises: each rank trains a different model, and
        rank 0 saves its own.

    Example
        ::

            model = DistributedDataParallel(net)
            loss = model.module(x).square().mean()
            loss.backward()
            optimizer.step()

    Fix
        ::

            model = DistributedDataParallel(net)
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()

    References
        torch.nn.parallel.DistributedDataParallel (no_sync, forward); torch.distributed.all_reduce.
    """
    if not analysis.reductions.several_ranks:
        return
    yield from by_wrappers(analysis)
    yield from by_the_program(analysis)
    yield from carried_wrongly(analysis)
    yield from undivided_sums(analysis)
    yield from clipped_alone(analysis)
    yield from unsynced_shards(analysis)
    yield from hooked_reductions(analysis)
    yield from scaled_by_local_norms(analysis)
    yield from asked_past_reducer(analysis)
    yield from groups_of_one(analysis)
    yield from summed_again(analysis)
    yield from summed_shards(analysis)
    yield from divided_again(analysis)
    yield from counted_by_all(analysis)
    yield from own_means(analysis)
    yield from left_over_used(analysis)
    yield from summands_for_sums(analysis)
    yield from sums_lost(analysis)
    yield from sums_sent_back(analysis)
    yield from shares_lost(analysis)
    yield from used_while_running(analysis)
    yield from gathered_into_one(analysis)
    yield from weights_exchanged(analysis)
    yield from statistics_left(analysis)
    yield from entries_lost(analysis)
    yield from compared_with_others(analysis)
    yield from outer_steps(analysis)
    yield from gradients_overwritten(analysis)
    yield from replaced_averaged(analysis)
    yield from graphs_sent(analysis)


def compare(ranks: Mapping[int, RankSummary], _placement: RankedPlacement) -> Iterator[Across]:
    """What the ranks' summaries show together."""
    yield from compared(ranks)
    yield from mixed_parts(ranks)


def compare_last(ranks: Mapping[int, RankSummary], _placement: RankedPlacement) -> Iterator[Across]:
    """What the fingerprints show, where nothing else does."""
    found = [*parted(ranks), *summed_copies(ranks)]
    yield from found or [*parts_parted(ranks)] or layers_parted(ranks)
