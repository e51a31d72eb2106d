"""Why gradients that were to be reduced over the ranks were not: what each such step has in common with others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ranks.reductions import Reached, Reductions
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.program_events import Communicated, ReplicasWrapped, WrapperCalled

Why = Literal[
    "around",
    "unsynced",
    "spent",
    "within",
    "inside",
    "unfinished",
    "unhooked",
    "late",
    "early",
    "dropped",
    "partly",
    "added",
    "beside",
    "loss",
    "nothing",
]
"""``around``: the wrapper's forward was not called. ``unsynced``: it was, and was told not to reduce. ``spent``: another
backward through the same forward had been reduced already. ``within``: a hook stepped before the reducer came.
``inside``: the
backward ran before the wrapper's forward had returned, at whose end it prepares to reduce. ``unfinished``: the reducer waits for parameters that the backward did not reach. ``unhooked``: it was to reduce, and its hooks did not run. ``late``, ``early``: the program's own call came behind the step, or before
the backward. ``added``: the wrapped model got the parameter later. ``beside``: it is in no wrapper, or the program's
own calls leave it out. ``dropped``: a copy of it is reduced, and the result is not used. ``partly``: of what went into a call some sums came back. ``loss``: the loss is reduced in their place. ``nothing``: the ranks share data or began with the
same weights, and no gradient is ever reduced."""


class Unreduced(Struct, frozen=True):
    """Parameters that steps moved by the gradients of this rank alone; ``first`` is the first such step."""

    why: Why
    tensors: tuple[int, ...]
    first: Reached
    steps: int
    wrapper: ReplicasWrapped | None = None
    call: WrapperCalled | None = None
    exchange: Communicated | None = None


def unreduced(capture: Capture, reductions: Reductions) -> Iterator[Unreduced]:
    """One for each cause, with the first step that shows it."""
    found: dict[tuple[Why, int], list[Unreduced]] = {}
    for reached in reductions.reached:
        for each in _of_step(capture, reductions, reached):
            if each.exchange is not None and each.why not in {"loss", "dropped", "partly"}:
                # The call behind the step of one round lies before the backward of the next.
                found.setdefault(("late", each.exchange.site), []).append(each)
                continue
            place = each.call.site if each.call is not None else reached.run.site
            found.setdefault((each.why, place), []).append(each)
    for alike in found.values():
        first = alike[0]
        tensors = dict.fromkeys(tensor for each in alike for tensor in each.tensors)
        yield Unreduced(first.why, tuple(tensors), first.first, len(alike), first.wrapper, first.call, first.exchange)


def _of_step(capture: Capture, reductions: Reductions, reached: Reached) -> Iterator[Unreduced]:
    parts: dict[tuple[Why, int, int], Unreduced] = {}
    for tensor in reached.local:
        each = None if reductions.averaged(tensor) else _why(capture, reductions, reached, tensor)
        if each is None:
            continue
        key = (
            each.why,
            each.wrapper.wrapper if each.wrapper is not None else -1,
            each.exchange.site if each.exchange is not None else -1,
        )
        before = parts[key].tensors if key in parts else ()
        parts[key] = Unreduced(each.why, (*before, tensor), reached, 1, each.wrapper, each.call, each.exchange)
    yield from parts.values()


def _why(capture: Capture, reductions: Reductions, reached: Reached, tensor: int) -> Unreduced | None:
    wrapper = reductions.wrapper_of.get(tensor)
    if wrapper is not None:
        call = reductions.wrapper_calls.call_of(wrapper, tensor, reached.run)
        return Unreduced(_why_wrapped(reductions, reached, tensor, wrapper, call), (tensor,), reached, 1, wrapper, call)
    if tensor in reached.dropped or tensor in reached.partly:
        calls = reductions.exchanges.within(reached.run.start, reached.step.updates_from)
        used = next((each for each in calls if each.op and each.tensors), None)
        if used is not None:
            why: Why = "partly" if tensor in reached.partly else "dropped"
            return Unreduced(why, (tensor,), reached, 1, exchange=used)
    exchanges = [event for event in reductions.exchanged(tensor) if not is_a(event.name, OpKind.POINT_TO_POINT)]
    behind = next((event for event in exchanges if event.at >= reached.step.at), None)
    before = next((event for event in reversed(exchanges) if event.at < reached.run.start), None)
    if behind is not None or before is not None:
        # What is reduced before the backward of each round lies behind the step of the round before.
        early = before is not None and (behind is None or not _next_to(reductions, reached, behind))
        return Unreduced("early" if early else "late", (tensor,), reached, 1, exchange=before if early else behind)
    return _why_alone(capture, reductions, reached, tensor)


def _why_alone(capture: Capture, reductions: Reductions, reached: Reached, tensor: int) -> Unreduced | None:
    """Of what neither a wrapper nor a call of the program's reduces."""
    exchanges = reductions.exchanges
    if exchanges.point_to_point or tensor in reductions.ignored:
        return None
    loss = reductions.reduces_loss(reached.run) or reductions.averages_loss(reached.run)
    if loss is not None:
        return Unreduced("loss", (tensor,), reached, 1, exchange=loss)
    if reductions.meant:
        return (
            None
            if exchanges.in_functions or reductions.alone_before(tensor)
            else _left_out(capture, reductions, reached, tensor)
        )
    return Unreduced("nothing", (tensor,), reached, 1) if reductions.alike is not None else None


def _left_out(capture: Capture, reductions: Reductions, reached: Reached, tensor: int) -> Unreduced:
    """Of what is not reduced while others are."""
    owner = capture.owners.get(tensor, -1)
    for wrapper in reductions.wrappers.values() if owner >= 0 else ():
        # Some of what it wrapped may have left the model since: replaced, or computed from others now.
        if owner in {capture.owners.get(wrapped, -1) for wrapped in wrapper.tensors}:
            return Unreduced("added", (tensor,), reached, 1, wrapper)
    return Unreduced("beside", (tensor,), reached, 1)


def _why_wrapped(
    reductions: Reductions, reached: Reached, tensor: int, wrapper: ReplicasWrapped, call: WrapperCalled | None
) -> Why:
    if call is None:
        return "around"
    if not call.synced:
        return "unsynced"
    if reductions.stepped_within(reached.step, reached.run):
        return "within"
    unreached = reductions.wrapper_calls.unreached(wrapper, call, reached.step.at)
    if not unreached and reductions.wrapper_calls.runs_inside(call, reached.run):
        return "inside"
    if reductions.reached_between(tensor, call.at, reached.run):
        return "spent"
    return "unfinished" if unreached else "unhooked"


def _next_to(reductions: Reductions, reached: Reached, event: Communicated) -> bool:
    """Whether a call comes behind a step and before any other backward."""
    return reductions.no_backward_between(reached.step.at, event.at)
