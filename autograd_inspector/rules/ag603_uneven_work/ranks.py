"""AG603 where ranks make different numbers of calls that all have to make, or of steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from autograd_inspector.model.finding import Across, Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.rank_summary import Done, RankSummary
from autograd_inspector.model.ranks import ranks_text
from autograd_inspector.model.wording import agree, counted
from autograd_inspector.rules.ag603_uneven_work.passes import passes_apart
from autograd_inspector.rules.ag603_uneven_work.pipelines import crossed


def compared(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """One problem: ranks that part in their calls part in their steps as well."""
    found = [*_roots(ranks)] or [*_calls(ranks)] or [*_order(ranks)] or [*passes_apart(ranks)]
    found = found or [*crossed(ranks)]
    yield from found or [*_waits(ranks)] or [*_steps(ranks)] or [*_moments(ranks)]


def _roots(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """The first call that all ranks make at one line, and in which each names another rank to send from, or to."""
    for at, roots in enumerate(zip(*(summary.roots for summary in ranks.values()), strict=False)):
        lines = {rank: summary.exchanges[summary.sequence[at][0]] for rank, summary in ranks.items()}
        done = next(iter(lines.values()))
        if len({(line.api, line.places) for line in lines.values()}) > 1:
            return  # They have gone different ways.
        if len(set(roots)) == 1 or min(roots) < 0:
            continue
        named = ", ".join(f"rank {root} on rank {rank}" for rank, root in zip(ranks, roots, strict=True))
        yield (
            Problem(
                "error",
                f"ranks name different ranks for one {done.api}: {named}. Each sends or waits by itself, so no rank gets the values of "
                "another, or the call hangs",
                f"Give {done.api} the same rank on every rank, such as 0. `dist.get_rank()` is another number on each.",
                done.places,
                (done.api,),
            ),
            tuple(ranks)[1:],
        )
        return


def _calls(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """Calls of torch.distributed, which all ranks have to make equally often, whatever lines they make them at."""
    totals = {rank: sum(done.times for done in summary.exchanges) for rank, summary in ranks.items()}
    if len(set(totals.values())) < 2:
        return
    most = max(totals.values())
    ahead = tuple(rank for rank, total in totals.items() if total == most)
    behind = tuple(rank for rank in totals if rank not in ahead)
    waiting = [ranks[rank].waited for rank in ahead if ranks[rank].waited is not None]
    differing = [*_differing({rank: summary.exchanges for rank, summary in ranks.items()})]
    last = [done for rank in ahead for done in ranks[rank].exchanges if done.last]
    shown = [done for done in waiting if done is not None] or differing or last
    names = ", ".join(dict.fromkeys(done.api for done in shown))
    fewest = min(totals.values())
    ends = [done for rank in behind for done in ranks[rank].exchanges if done.last]
    stood = [done for rank in behind for done in [ranks[rank].stood or ranks[rank].waited] if done is not None]
    common = _last_in_common(ranks)
    counts = (
        f"ranks make different numbers of calls that every rank must make: {counted(most, 'call')} on {ranks_text(ahead)}, "
        f"{counted(fewest, 'call')} on {ranks_text(behind)}"
    )
    waits = (
        f"{names} on {ranks_text(ahead)} waits for {ranks_text(behind)}, which did not arrive"
        if waiting
        else f"they differ in {names}"
    )
    yield (
        Problem(
            "error",
            f"{counts}; {waits}{_whereabouts(ranks, behind)}{_parting(common)}",
            "Make the same calls in the same order on every rank: the same number of batches (`drop_last=True`, a "
            "DistributedSampler), and no collective inside a condition that depends on the rank or its data.",
            (
                *(place for done in shown for place in done.places),
                *(place for done in stood for place in done.places),
                *(place for done in differing for place in done.places),
                *(place for done in ends for place in done.places),
                *(common.places if common is not None else ()),
            ),
            tuple(done.api for done in shown),
        ),
        ahead,
    )


def _sizes(ranks: Mapping[int, RankSummary], first: int, rank: int) -> Iterator[Across]:
    """The first call to which two ranks bring other amounts, where no backend says so."""
    pairs = zip(ranks[first].sequence, ranks[rank].sequence, strict=False)
    parted = next(
        ((at, *pair) for at, pair in enumerate(pairs, 1) if pair[0][2] and pair[1][2] and pair[0][2] != pair[1][2]),
        None,
    )
    if parted is None:
        return
    at, (here, what, size), (there, _, other) = parted
    call = ranks[first].exchanges[here].api
    lines = dict.fromkeys((*ranks[first].exchanges[here].places, *ranks[rank].exchanges[there].places))
    yield (
        Problem(
            "error",
            f"ranks give {call} different amounts: call {at} has {_elements(size)} on rank {first} and {_elements(other)} on rank "
            f"{rank}. The ranks exchange bytes: values are missing or mixed up, or the call hangs or ends the process",
            f"Give {call} the same shape and dtype on every rank: pad to the longest (all_reduce the length with "
            "`op=dist.ReduceOp.MAX` first), or use drop_last=True.",
            tuple(lines),
            (*what.split(),),
        ),
        (rank,),
    )


def _elements(size: str) -> str:
    count, _, dtype = size.partition(" ")
    return f"{counted(int(count), 'element')} of {dtype}"


def _whereabouts(ranks: Mapping[int, RankSummary], behind: tuple[int, ...]) -> str:
    """Where ranks are that others wait for, as far as their reports tell."""
    told = []
    for rank in behind:
        done = ranks[rank].stood or ranks[rank].waited
        if done is not None:
            place = next(iter(done.places), None)
            line = f" at line {place.lineno} of {_file(place)}" if place is not None else ""
            told.append(f"rank {rank} is in {done.api}{line}")
        elif ranks[rank].raised:
            told.append(f"rank {rank} raised an error")
    return f"; {', '.join(told)}" if told else ""


def _file(place: Location) -> str:
    return place.cell or place.filename.replace("\\", "/").rpartition("/")[2]


def _last_in_common(ranks: Mapping[int, RankSummary]) -> Done | None:
    """The last call that all ranks made at the same line, before they went different ways."""
    first, *others = ranks.values()
    last = None
    for at, (number, carries, _) in enumerate(first.sequence):
        line = first.exchanges[number]
        for other in others:
            if at >= len(other.sequence):
                return last
            theirs, carried, _ = other.sequence[at]
            if carried != carries or other.exchanges[theirs].places != line.places:
                return last
        last = line
    return last


def _parting(common: Done | None) -> str:
    place = next(iter(common.places), None) if common is not None else None
    if common is None or place is None:
        return ""
    return f". The last call that all of them made is {common.api} at line {place.lineno} of {_file(place)}"


def _order(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """As many calls on each rank, which carry other things: what one rank sends is added to something else."""
    first, *others = ranks
    for rank in others:
        pairs = zip(ranks[first].sequence, ranks[rank].sequence, strict=False)
        parted = next(((at, *pair) for at, pair in enumerate(pairs, 1) if pair[0][1] != pair[1][1]), None)
        if parted is None:
            sizes = [*_sizes(ranks, first, rank)]
            if sizes:
                yield from sizes
                return
            continue
        at, (here, carries, _), (there, carried, _) = parted
        places = (*ranks[first].exchanges[here].places, *ranks[rank].exchanges[there].places)
        yield (
            Problem(
                "error",
                f"ranks make their calls in different orders: call {at} is {carries} on rank {first} and {carried} on rank "
                f"{rank}. Values of different tensors are combined",
                "Make the same calls in the same order on every rank: loop over a sorted list, not over a set or in order "
                "of arrival.",
                tuple(places),
                (*carries.split(), *carried.split()),
            ),
            (rank,),
        )
        return


def _waits(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """Calls between two ranks that each wait for another: none of them can go on."""
    waiting = {rank: summary.waited for rank, summary in ranks.items() if summary.waited is not None}
    if not waiting:
        return
    told = "; ".join(
        f"rank {rank} in {done.api}" + (f" for {done.value}" if done.value else "") for rank, done in waiting.items()
    )
    others = tuple(rank for rank in ranks if rank not in waiting)
    if others:
        yield _left_waiting(ranks, waiting, others)
        return
    yield (
        Problem(
            "error",
            f"ranks wait for each other: {told}",
            "Pair the calls: when one rank calls recv, the other calls send. Two ranks that exchange tensors use "
            "`dist.batch_isend_irecv`, or one sends first and the other receives first.",
            tuple(place for done in waiting.values() for place in done.places),
            tuple(done.api for done in waiting.values()),
        ),
        tuple(waiting),
    )


def _left_waiting(ranks: Mapping[int, RankSummary], waiting: dict[int, Done], others: tuple[int, ...]) -> Across:
    calls = ", ".join(dict.fromkeys(done.api for done in waiting.values()))
    here = tuple(waiting)
    raised = tuple(rank for rank in others if ranks[rank].raised)
    why = f"{ranks_text(raised)} raised an error" if raised else "did not make that call"
    who = "" if raised else f"{ranks_text(others)} "
    return (
        Problem(
            "error",
            f"{ranks_text(here)} {agree(here, 'waits', 'wait')} in {calls} until it times out: {who}{why}",
            f"Repair the error of {ranks_text(raised)} first."
            if raised
            else "Make the call on every rank: all ranks of a group take part in a collective, in new_group(), and in the state "
            "dict of a sharded model. Only writing the file belongs under `if rank == 0`. Between two ranks, pair each recv with a "
            "send.",
            tuple(place for done in waiting.values() for place in done.places),
            tuple(done.api for done in waiting.values()),
        ),
        here,
    )


def _moments(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """As many steps on each rank, but not between the same exchanges."""
    if any(summary.raised or summary.joins for summary in ranks.values()):
        return
    if not all(summary.replica for summary in ranks.values()):
        return
    for number in range(min(len(summary.clocks) for summary in ranks.values())):
        clocks = {rank: summary.clocks[number] for rank, summary in ranks.items()}
        first = next(iter(clocks.values()))
        other = next((rank for rank, clock in clocks.items() if clock != first), None)
        if other is None or not all(clocks.values()) or len({len(clock) for clock in clocks.values()}) > 1:
            continue
        at = next(at for at, pair in enumerate(zip(first, clocks[other], strict=True)) if pair[0] != pair[1])
        done = {rank: summary.steps[number] for rank, summary in ranks.items()}
        here = next(iter(ranks))
        yield (
            Problem(
                "error",
                f"ranks step {done[here].api} at different times: before step {at + 1} rank {here} had made "
                f"{counted(first[at], 'call')} with the others, rank {other} {clocks[other][at]}. One of them left a step out that "
                "the other made, so the replicas diverge",
                "Take the same decision on every rank whether step() is called: after the reduction, or by a flag that the ranks reduce.",
                tuple(place for rank in (here, other) for place in done[rank].places),
                (done[here].api, "step", *done[here].names),
            ),
            (other,),
        )
        return


def _steps(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """Steps of the optimizers of replicas, where every rank's program came to its end."""
    if any(summary.raised or summary.joins for summary in ranks.values()):
        return
    # Of a rank that never steps no gradient is known to have been used: that it calls the wrapper tells as much.
    if not all(summary.replica or summary.forwards for summary in ranks.values()):
        return
    count = min(len(summary.steps) for summary in ranks.values())
    for number in range(count):
        done = {rank: summary.steps[number] for rank, summary in ranks.items()}
        if len({each.api for each in done.values()}) > 1 or len({each.times for each in done.values()}) < 2:
            continue
        most = max(each.times for each in done.values())
        ahead = tuple(rank for rank, each in done.items() if each.times == most)
        behind = tuple(rank for rank in done if rank not in ahead)
        if not any(done[rank].names for rank in ahead):
            continue  # What no rank reduces: a model of its own.
        names = tuple(dict.fromkeys(name for each in done.values() for name in each.names))
        kind = done[ahead[0]].api
        yield (
            Problem(
                "error",
                f"ranks step {kind} different numbers of times: {counted(most, 'time')} on {ranks_text(ahead)}, "
                f"{counted(min(each.times for each in done.values()), 'time')} on {ranks_text(behind)}. The replicas get the "
                "same gradients but diverge",
                "Call step() on every rank: only logging and checkpointing belong under `if rank == 0`.",
                (
                    *(place for line in _uneven_lines(ranks, number) for place in line.places),
                    *(place for rank in (*ahead, *behind) for place in done[rank].places),
                ),
                (kind, *names),
            ),
            behind,
        )


def _uneven_lines(ranks: Mapping[int, RankSummary], optimizer: int) -> list[Done]:
    """The lines at which some ranks step an optimizer more often than others."""
    return [
        *_differing({rank: (s for s in each.step_lines if s.value == str(optimizer)) for rank, each in ranks.items()})
    ]


def _differing(done: Mapping[int, Iterable[Done]]) -> Iterator[Done]:
    """What some ranks did more often at a line than others."""
    by_line: dict[tuple[str, tuple[Location, ...]], dict[int, Done]] = {}
    for rank, each in done.items():
        for one in each:
            by_line.setdefault((one.api, one.places), {})[rank] = one
    for at in by_line.values():
        if len({at[rank].times if rank in at else 0 for rank in done}) > 1:
            yield next(iter(at.values()))
