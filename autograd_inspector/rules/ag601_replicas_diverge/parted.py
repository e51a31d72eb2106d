"""AG601 where the fingerprints of what ranks are to have in common part, and nothing else says why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from autograd_inspector.model.finding import Across, Problem
from autograd_inspector.model.rank_summary import Done, Moment, RankSummary
from autograd_inspector.model.ranks import ranks_text
from autograd_inspector.model.wording import agree, counted, summarize_names
from autograd_inspector.rules.ag601_replicas_diverge.rejoined import rejoined

_Read = Callable[[RankSummary], Iterable[Done]]


def parted(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """One finding: the first moment at which ranks differ. Nothing where they may do different amounts of work."""
    if any(summary.joins for summary in ranks.values()):
        return
    kinds: list[str] = []
    borrowed: set[int] = set()
    """Lines at which weights were met that each rank had moved for a while."""
    for at in range(min(len(summary.moments) for summary in ranks.values())):
        here = {rank: summary.moments[at] for rank, summary in ranks.items()}
        lines = {rank: summary.moment_lines[here[rank].line] for rank, summary in ranks.items()}
        if len({line.api for line in lines.values()}) > 1:
            return  # They do not do the same in the same order.
        kinds.append(next(iter(lines.values())).api)
        others = _differing(here)
        if others and kinds[-1] == "weights":
            line = next(iter(here.values())).line
            # The last ones have no step behind them, where the recording ended early.
            if line in borrowed or rejoined(ranks, {key for keys in others.values() for key in keys}, at + 1):
                borrowed.add(line)
                continue
        if others:
            names = tuple(dict.fromkeys(key.partition("|")[2] for keys in others.values() for key in keys))
            yield (
                _problem(ranks, kinds, tuple(filter(None, names)), tuple(others), lines[next(iter(others))]),
                (*others,),
            )
            return


def _differing(here: Mapping[int, Moment]) -> dict[int, list[str]]:
    """Rank -> what it has unlike the first rank that has it."""
    seen: dict[str, int] = {}
    others: dict[int, list[str]] = {}
    for rank, moment in here.items():
        for key, digest in moment.digests.items():
            if seen.setdefault(key, digest) != digest:
                others.setdefault(rank, []).append(key)
    return others


def _problem(
    ranks: Mapping[int, RankSummary], kinds: list[str], names: tuple[str, ...], odd: tuple[int, ...], line: Done
) -> Problem:
    first = next(rank for rank in ranks if rank not in odd)
    between = f"between rank {first} and {ranks_text(odd)}"
    what, step = kinds[-1], kinds.count("gradients")
    whose = summarize_names(names) if names else "some parameters"
    begun = what == "weights" and "gradients" not in kinds
    hooked = bool(line.value)
    written = tuple(name for name in names if name in line.names)
    message, fix, lines = {
        "weights": (
            f"replicas have different weights when training starts: {whose} {agree(names, 'differs', 'differ')} {between}"
            if begun
            else f"{whose} {agree(names, 'differs', 'differ')} {between} after {counted(step, 'equal step')}: something other than step() "
            "changes the weights, and in different ways",
            "Set the same seed on every rank before creating the model, or broadcast the weights of one rank."
            if begun
            else "Change weights on every rank, or broadcast them after the change.",
            _lines(ranks, lambda summary: summary.drawn if begun else summary.edits),
        ),
        "gradients": (
            f"step {step} uses different {agree(names, 'gradient', 'gradients')} of {whose} on different ranks "
            f"({between}), although the weights are equal: the replicas diverge",
            "Reduce the gradients on all ranks before step(), and change them by the same numbers everywhere: a loss scale or "
            "a limit that one rank computes must be reduced, too."
            if not hooked
            else "Return the same gradients from the communication hook on every rank: what it scales or selects them by must be "
            "reduced first, too. After backward(), change gradients by the same numbers everywhere.",
            () if hooked else _lines(ranks, lambda summary: summary.gradient_edits),
        ),
        "stepped": (
            f"step {step} gives {whose} different values {between}, although the gradients are equal: between the call of the "
            f"model and step(), something else writes to {summarize_names(written)}",
            "Write the same values on every rank: reduce the statistics that they are computed from, or broadcast the written "
            "weights of one rank.",
            (),
        )
        if written
        else (
            f"step {step} gives {whose} different values {between}, although weights and gradients are equal: the settings or "
            "the state of the optimizers differ",
            "Use the same settings, and the same saved state, on every rank.",
            (),
        ),
        "buffers": (
            f"{agree(names, 'the buffer', 'the buffers')} {whose} {agree(names, 'differs', 'differ')} {between} where the forward "
            f"uses {agree(names, 'it', 'them')}: each rank updates {agree(names, 'it', 'them')} from its own data, so the replicas "
            "compute different functions",
            "Call all_reduce on the statistics before they enter the buffer. Or let DistributedDataParallel broadcast the "
            "buffers of rank 0 (`broadcast_buffers=True`).",
            (),
        ),
        "declared": (
            f"a tensor that is declared as replicated (`Replicate()`) differs {between}: parallel layers compute with parts of "
            "different inputs, and their sums mean nothing",
            "Give every rank of the group the same tensor: the same batch on all ranks of a tensor-parallel group (a sampler "
            "with `num_replicas` and `rank` of the data-parallel group), or a broadcast.",
            (),
        ),
        "came back": (
            f"the gradient of what to_local() returned differs {between}, but DTensor expects the same gradient on all of them, since "
            "the tensor is replicated: each rank keeps its own part of the gradient, and the replicas diverge",
            "Pass `grad_placements=[Partial()]` to to_local() where the ranks compute different things with the tensor: the parts "
            "are then summed.",
            (),
        ),
        "dealt out": (
            f"the tensor given to distribute_tensor() differs {between}, and only that of one rank is sent out: what the other ranks "
            "gave it is never used",
            "Make a DTensor of what each rank has itself: `DTensor.from_local(x, mesh, [Shard(0)])`. Or give distribute_tensor() the "
            "same whole batch on every rank.",
            (),
        ),
    }[what]
    places = tuple(place for done in (*lines, line) for place in done.places)
    return Problem("warning", message, fix, places, names)


def _lines(ranks: Mapping[int, RankSummary], read: _Read) -> Iterable[Done]:
    return [done for summary in ranks.values() for done in read(summary)]
