"""AG603 where ranks call a wrapper, or run backward through it, in numbers or orders of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from autograd_inspector.analysis.ranks.passes import parting
from autograd_inspector.model.finding import Across, Problem
from autograd_inspector.model.rank_summary import Done, RankSummary
from autograd_inspector.model.ranks import ranks_text
from autograd_inspector.model.wording import agree, counted

_EACH_FORWARD = (
    "Call backward() on every rank for each forward: decide together whether a batch is left out (all_reduce a flag), or "
    "multiply its loss by 0."
)


def passes_apart(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """One problem, about the first pass in which the ranks part, as far as their order is known."""
    if any(summary.joins for summary in ranks.values()) or not all(summary.forwards for summary in ranks.values()):
        return
    counts = [*_forwards(ranks)] or [*_backwards(ranks)]
    parted = {rank: done for rank, done in parting(ranks).items() if done is not None} if counts else {}
    around = {rank: done for rank, done in parted.items() if done.value == "around"}
    back = {rank: done for rank, done in parted.items() if done.value == "backward"}
    again = {rank: done for rank, done in parted.items() if done.value == "forward"}
    if around and (back or again):
        yield _around(around, back | again)
    elif back and again:
        yield _left_out(back, again)
    else:
        yield from counts


def _around(around: Mapping[int, Done], others: Mapping[int, Done]) -> Across:
    kind = next(iter(others.values())).api
    here, there = ranks_text(tuple(around)), ranks_text(tuple(others))
    return (
        Problem(
            "error",
            f"{here} {agree(around, 'calls', 'call')} the model inside {kind} where {there} {agree(others, 'calls', 'call')} {kind}: "
            f"the backward pass of {here} reduces nothing, and that of {there} waits for it",
            f"Call {kind} on every rank, in each step that all ranks make.",
            tuple(place for done in (*around.values(), *others.values()) for place in done.places),
            (kind,),
        ),
        tuple(around),
    )


def _left_out(back: Mapping[int, Done], again: Mapping[int, Done]) -> Across:
    kind = next(iter(again.values())).api
    here, there = ranks_text(tuple(again)), ranks_text(tuple(back))
    return (
        Problem(
            "error",
            f"{here} {agree(again, 'calls', 'call')} {kind} again without a backward() for the forward before, while {there} "
            f"{agree(back, 'runs', 'run')} one: it reduces gradients with all ranks, so {there} {agree(back, 'waits', 'wait')}",
            _EACH_FORWARD,
            tuple(place for done in (*back.values(), *again.values()) for place in done.places),
            (kind, "backward"),
        ),
        tuple(back),
    )


def _uneven(
    ranks: Mapping[int, RankSummary], read: Callable[[RankSummary], Sequence[Done]]
) -> Iterator[tuple[int, dict[int, Done], tuple[int, ...], tuple[int, ...]]]:
    """(number, what each rank did, who did it most often, the others) of what ranks did in different numbers."""
    for number in range(min(len(read(summary)) for summary in ranks.values())):
        done = {rank: read(summary)[number] for rank, summary in ranks.items()}
        most = max(each.times for each in done.values())
        ahead = tuple(rank for rank, each in done.items() if each.times == most)
        behind = tuple(rank for rank in done if rank not in ahead)
        if behind:
            yield number, done, ahead, behind


def _forwards(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """Calls of a wrapper's forward, each of which prepares a reduction in which all ranks take part."""
    for _, done, ahead, behind in _uneven(ranks, lambda summary: summary.forwards):
        most, fewest = (f(each.times for each in done.values()) for f in (max, min))
        kind = done[ahead[0]].api
        yield (
            Problem(
                "error",
                f"ranks call {kind} different numbers of times: {counted(most, 'time')} on {ranks_text(ahead)}, "
                f"{counted(fewest, 'time')} on {ranks_text(behind)}. Each call prepares a reduction in which all ranks must "
                "take part",
                "Give every rank the same number of batches: use a DistributedSampler, or drop_last=True. If the numbers "
                f"cannot be equal, train inside `with model.join():` of {kind}.",
                tuple(place for rank in (*ahead, *behind) for place in done[rank].places),
                (kind,),
            ),
            ahead,
        )


def _backwards(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """Backwards of a wrapper, in each of which all ranks take part."""
    for number, done, ahead, behind in _uneven(ranks, lambda summary: summary.backwards):
        most, fewest = (f(each.times for each in done.values()) for f in (max, min))
        forwards = [ranks[rank].forwards[number] for rank in behind if number < len(ranks[rank].forwards)]
        yield (
            Problem(
                "error",
                f"ranks run different numbers of backward passes through {done[ahead[0]].api}: {counted(most, 'backward')} on "
                f"{ranks_text(ahead)}, {counted(fewest, 'backward')} on {ranks_text(behind)}, after as many forwards. Each one "
                f"reduces gradients with all ranks, so {ranks_text(ahead)} waits",
                _EACH_FORWARD,
                tuple(place for each in (*(done[rank] for rank in ahead), *forwards) for place in each.places),
                (done[ahead[0]].api, "backward"),
            ),
            ahead,
        )
        return
