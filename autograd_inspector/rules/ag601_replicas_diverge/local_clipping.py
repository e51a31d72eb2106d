"""AG601 where each rank clips its own gradients, and they are reduced behind that."""

from __future__ import annotations

import math
from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.reductions import Reached
from autograd_inspector.analysis.ranks.shards import scaled_by_own
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import Communicated
from autograd_inspector.model.wording import summarize_names


def clipped_alone(analysis: Analysis) -> Iterator[Problem]:
    """One finding, about the first step of that kind."""
    reductions = analysis.reductions
    for reached in reductions.reached:
        early = _clipped_early(analysis, reached)
        if early is not None:
            yield early
            return
        by_hand = [t for t in reached.reduced if t not in reductions.wrapper_of]
        events = [
            event
            for event in reductions.exchanges.within(reached.run.end, reached.step.updates_from)
            if event.op in {"sum", "avg"}
        ]
        if not by_hand or not events:
            continue
        found = _clipped(analysis, reached, by_hand, events) or _scaled(analysis, reached, by_hand, events)
        if found is not None:
            yield _problem(analysis, reached, by_hand, *found)
            return


def _clipped(
    analysis: Analysis, reached: Reached, by_hand: list[int], events: list[Communicated]
) -> tuple[int, Communicated] | None:
    """(the line that clips, the call behind it)."""
    for tensor in by_hand:
        gradients = analysis.gradients.get(tensor, frozenset())
        reads = analysis.timeline.reads_of(tensor).within(reached.run.end, events[0].at)
        clips = [read for read in reads if 0 <= read.clips < math.inf]
        own = next((event for event in events if gradients & set(event.tensors)), events[0])
        if clips and clips[-1].at <= own.at:
            return clips[-1].site, own
    return None


def _clipped_early(analysis: Analysis, reached: Reached) -> Problem | None:
    """Gradients that a wrapper reduces with the last micro-batch, clipped when only this rank had added to them."""
    reductions = analysis.reductions
    early: dict[int, list[int]] = {}
    for tensor in reached.reduced:
        wrapper, run = reductions.wrapper_of.get(tensor), reductions.left_local(tensor, reached)
        if wrapper is None or run is None:
            continue
        reads = analysis.timeline.reads_of(tensor).within(run.end, reached.run.start - 1)
        clip = next((read.site for read in reads if 0 <= read.clips < math.inf), None)
        if clip is not None:
            early.setdefault(clip, []).append(tensor)
    for clip, tensors in early.items():
        wrapper, names = reductions.wrapper_of[tensors[0]], names_of(analysis, tensors)
        return Problem(
            "warning",
            f"the gradients of {summarize_names(names)} are clipped between two micro-batches, before {wrapper.type} averages "
            f"them over {wrapper.world} ranks: each rank scales what it has accumulated by a different norm, so the result is "
            "neither the gradient of the whole batch nor bounded by the limit",
            "Clip once before each step(), after the backward() of the last micro-batch, which reduces the gradients.",
            analysis.places(
                (clip, "clipped here"),
                (reached.run, "reduced by backward() here"),
                (reached.step, "step() called here"),
            ),
            tuple(names),
            ops=(reached.step.op,),
        )
    return None


def _scaled(
    analysis: Analysis, reached: Reached, by_hand: list[int], events: list[Communicated]
) -> tuple[int, Communicated] | None:
    """The same of a program that computes the norm, and scales by it, itself."""
    exchanges = analysis.reductions.exchanges
    memory = {exchanges.storage(g) for t in by_hand for g in analysis.gradients.get(t, ())} - {-1}
    pair = scaled_by_own(analysis.capture, analysis.reductions, memory, reached.run.end, events[-1].at)
    return None if pair is None else (pair[1].site, next(event for event in events if event.at > pair[1].index))


def _problem(analysis: Analysis, reached: Reached, by_hand: list[int], clip: int, own: Communicated) -> Problem:
    names = names_of(analysis, by_hand)
    return Problem(
        "warning",
        f"the gradients of {summarize_names(names)} are clipped before {own.name} sums them over {own.world} ranks: "
        "each rank scales them by a different norm, so the result is neither the gradient of the whole batch nor "
        "bounded by the limit",
        f"Clip after {own.name} and after the division by the number of ranks, so that all ranks clip the same "
        "gradient.",
        analysis.places((clip, "clipped here"), (own, f"{own.name} called here"), (reached.step, "step() called here")),
        tuple(names),
        ops=(own.at, reached.step.op),
    )
