"""AG202 under checkpointing: the recomputation runs with other parameters than the forward did."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.unseen_edits.recomputed_forwards import recomputations
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location, with_role
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.remedy import BindNow


def recomputed_elsewhere(analysis: Analysis) -> Iterator[Problem]:
    """Recomputations that repeat the calls of the forward, on the same input, with the weights of another module.

    One finding for each line that is checkpointed: a function made in a loop finds the loop's last module each time.
    """
    told: set[tuple[str, int] | None] = set()
    for run in analysis.capture.backwards:
        if not run.error:
            for again in recomputations(analysis, run):
                parting = _parting(analysis, again)
                line = line_of(analysis, again[0].site)
                if parting is not None and line not in told:
                    told.add(line)
                    yield _finding(analysis, run, *parting)


def _parting(analysis: Analysis, again: list[Op]) -> tuple[Op, int, Op, int] | None:
    """(op of the forward, its parameter, op of the recomputation, its own) where they part first.

    None where some forward on that input used the same ones, or none can be followed as far as the recomputation ran.
    """
    ops, first, found = analysis.capture.ops, again[0], None
    given = [t for t in first.inputs if not _is_parameter(analysis, t)]
    for index in analysis.capture.readers.get(given[0], ()) if given else ():
        forward = ops[index : index + len(again)]
        if index >= first.index or [t for t in ops[index].inputs if not _is_parameter(analysis, t)] != given:
            continue
        pairs = list(zip(forward, again, strict=False))
        if len(pairs) < len(again) or not all(_alike(one, other) for one, other in pairs):
            continue
        differing = (
            (one, mine, other, its)
            for one, other in pairs
            for mine, its in zip(one.inputs, other.inputs, strict=True)
            if _is_parameter(analysis, mine) and _is_parameter(analysis, its) and _apart(analysis, mine, its)
        )
        here = next(differing, None)
        if here is None:
            return None
        found = found or here
    return found


def _alike(one: Op, other: Op) -> bool:
    return one.name == other.name and len(one.inputs) == len(other.inputs) and not one.has(Trait.BACKWARD)


def _is_parameter(analysis: Analysis, tensor: int) -> bool:
    return analysis.capture.tensors[tensor].kind == "parameter"


def _apart(analysis: Analysis, one: int, other: int) -> bool:
    """Whether they are not the same, nor two forms of the same: a shard, and what is gathered of all shards."""
    return one != other and name_of(analysis, one) != name_of(analysis, other)


def _entrance(analysis: Analysis, run: Backward, op: Op) -> tuple[Location, ...]:
    """The line of the checkpointed function itself: the outermost of those that the backward did not have as well."""
    below = {frame.line for frame in analysis.user_frames(run.site, "")}
    inside = list(takewhile(lambda frame: frame.line not in below, analysis.user_frames(op.site, "")))
    return tuple(with_role(frame, "checkpointed here") for frame in inside[-1:])


def _finding(analysis: Analysis, run: Backward, before: Op, mine: int, after: Op, its: int) -> Problem:
    own, other = name_of(analysis, mine), name_of(analysis, its)
    return Problem(
        "error",
        f"the forward ran `{before.name}` with {own}, and the checkpoint recomputes it in backward with {other}: the checkpointed function finds a different module when it runs again, so the gradients are silently wrong",
        "Pass the module itself, `checkpoint(block, x)`, or bind it when the function is defined, `lambda x, block=block: "
        "block(x)`: a closure looks up its variables each time it runs.",
        (
            *_entrance(analysis, run, after),
            *analysis.places((before, "in the forward"), (run, "recomputed by this backward")),
        ),
        (own, other),
        (
            f"Both calls of `{before.name}` read the same input, and the calls behind it are the same.",
            "Certain: the two calls read different parameters.",
        ),
        (before.index, after.index),
        tuple((BindNow(place, ()),) for place in _entrance(analysis, run, after)[:1]),
    )
