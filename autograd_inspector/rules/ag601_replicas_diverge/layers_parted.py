"""AG601 where layers that all ranks compute alike, beside parallel layers, are moved apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from autograd_inspector.model.finding import Across, Problem
from autograd_inspector.model.rank_summary import Done, RankSummary
from autograd_inspector.model.ranks import ranks_text
from autograd_inspector.model.wording import agree, summarize_names


def layers_parted(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """One finding: the first step after which such weights differ.

    A layer that was given the same on all ranks, and returned the same, holds the same weights: it is meant to be one
    layer, of which each rank has a copy. Only a gradient that is the same everywhere keeps it so.
    """
    layers = {rank: {layer.api: layer for layer in summary.computed} for rank, summary in ranks.items()}
    first, *others = ranks
    common = [name for name in layers[first] if all(name in layers[rank] for rank in others)]
    alike = [name for name in common if len({layers[rank][name].value for rank in ranks}) == 1]
    parted: dict[int, list[str]] = {}
    for layer in alike:
        for name in layers[first][layer].names:
            moved = [ranks[rank].moved.get(name, ()) for rank in ranks]
            at = next((at for at, digests in enumerate(zip(*moved, strict=False)) if len(set(digests)) > 1), None)
            if at is not None and len({len(digests) for digests in moved}) == 1:
                parted.setdefault(at, []).append(name)
    drawing = [name for name in common if _takes_apart(ranks, layers, name) and not layers[first][name].names]
    dividing = [name for name in common if _takes_apart(ranks, layers, name) and layers[first][name].names]
    if not (drawing or dividing):
        return  # Layers that no parallel ones lie between have gradients of their own rank's data, which somebody averages.
    if not parted:
        if drawing and dividing:
            yield _drawn(layers[first], drawing, f"rank {first} and {ranks_text(tuple(others))}"), tuple(others)
        return
    step = min(parted)
    names = tuple(parted[step])
    odd = tuple(rank for rank in others if any(_differs(ranks, first, rank, name, step) for name in names))
    clips = _clipped_apart(ranks, names, step)
    if clips:
        yield _clipped(clips, names, step, f"rank {first} and {ranks_text(odd)}"), odd
        return
    yield _problem(layers[first], names, step, f"rank {first} and {ranks_text(odd)}", drawing, dividing), odd


def _differs(ranks: Mapping[int, RankSummary], one: int, other: int, name: str, step: int) -> bool:
    return ranks[one].moved[name][step] != ranks[other].moved[name][step]


def _clipped_apart(ranks: Mapping[int, RankSummary], names: tuple[str, ...], step: int) -> list[Done]:
    """The clipping of that step, where it was given the same gradients on all ranks."""
    clips: list[Done] = []
    for name in names:
        found = [next((d for d in summary.unclipped if name in d.names), None) for summary in ranks.values()]
        told = [done for done in found if done is not None]
        before = {(*done.value.split("|"), *[""] * step)[step] for done in told}
        if len(told) < len(ranks) or len(before) > 1 or "" in before:
            return []
        clips += told[:1]
    return clips


def _clipped(clips: list[Done], names: tuple[str, ...], step: int, between: str) -> Problem:
    return Problem(
        "warning",
        f"all ranks compute the same with {summarize_names(names)}, and have the same {agree(names, 'gradient', 'gradients')} before "
        f"they are clipped, but after step {step + 1} {agree(names, 'it differs', 'they differ')} between {between}: each rank clips by "
        "a norm that takes in its own part of the parallel layers alone",
        "Compute one norm for all ranks: add the squares of the parallel layers over the ranks with all_reduce, add those of the "
        "layers that all ranks have once, and scale all gradients by the same factor.",
        tuple(dict.fromkeys(place for done in clips for place in done.places)),
        names,
    )


def _takes_apart(ranks: Mapping[int, RankSummary], layers: Mapping[int, Mapping[str, Done]], name: str) -> bool:
    """Whether a layer makes different things on the ranks of the same."""
    values = [layers[rank][name].value.split(":") for rank in ranks]
    return len({given for given, _ in values}) == 1 and len({result for _, result in values}) > 1


def _drawn(layers: Mapping[str, Done], drawing: list[str], between: str, start: str = "") -> Problem:
    return Problem(
        "warning",
        f"{start}{summarize_names(tuple(drawing))} {agree(drawing, 'gets', 'get')} the same input on all ranks, and "
        f"{agree(drawing, 'draws', 'draw')} different random numbers on {between}, so the ranks no longer "
        "compute the same",
        "Use the same random seed on every rank of the group where all ranks compute the same. Only dropout inside parallel "
        "layers needs a seed per rank.",
        tuple(place for name in drawing for place in layers[name].places),
        tuple(drawing),
    )


def _problem(
    layers: Mapping[str, Done], names: tuple[str, ...], step: int, between: str, drawing: list[str], dividing: list[str]
) -> Problem:
    whose = f"all ranks compute the same with {summarize_names(names)}"
    parted = f"{whose}, but after step {step + 1} {agree(names, 'it differs', 'they differ')} between {between}"
    own = [layer for layer in layers.values() if set(layer.names) & set(names)]
    if drawing:
        return _drawn(layers, drawing, between, f"{parted}: ")
    return Problem(
        "warning",
        f"{parted}: the gradient that comes back from the parallel layers is only a part of the sum, and nothing adds the parts of "
        "the other ranks",
        f"Call all_reduce on the gradient of what goes into {summarize_names(tuple(dividing))}: in the backward of a Function whose forward returns its input "
        "unchanged. Its counterpart behind the parallel layers calls all_reduce in forward, and passes the gradient through unchanged.",
        tuple(place for layer in (*(layers[name] for name in dividing[:1]), *own) for place in layer.places),
        names,
    )
