"""Parameters that the program updates itself, without an optimizer: `p -= lr * p.grad`."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.gradients.clearing import renewed
from autograd_inspector.rules.wording.names import folded
from autograd_inspector.rules.wording.places import unique
from autograd_inspector.rules.wording.quoting import in_place

_ADDING = {"add", "sub", "subtract", "rsub"}
"""What makes ``p - lr * g``; other formulas of a parameter and its gradient measure something (``p * g``)."""
_ASIDE = Trait.STEP | Trait.BACKWARD | Trait.EXPORT
_NONE: frozenset[int] = frozenset()


class Update(Struct, frozen=True):
    """An op that computes a parameter's new value from its gradient; ``kept``: it wrote it into the parameter."""

    parameter: int
    op: Op
    kept: bool


def updates(facts: Facts) -> Iterator[Update]:
    """Updates of leaves that no optimizer of the capture holds, in program order."""
    capture, tensors = facts.capture, facts.capture.tensors
    of: dict[int, frozenset[int]] = {}
    for read in capture.grad_reads:
        if read.leaf and read.gradient >= 0 and read.tensor not in capture.optimized:
            of[read.gradient] = of.get(read.gradient, _NONE) | {read.tensor}
    asked = any(op.name == "grad" for op in capture.ops)
    for op in capture.ops if of or asked else ():
        if op.has(_ASIDE) or op.call >= 0:
            continue
        if op.name == "grad":
            found = frozenset(t for t in op.inputs if tensors[t].leaf and t not in capture.optimized)
        else:
            found = _NONE.union(*(of.get(t, _NONE) for t in op.inputs))
        if not found:
            continue
        given = {tensors[t].storage for t in op.inputs if t not in of}
        for parameter in found:
            record = tensors[parameter]
            if any(w.tensor == parameter or w.storage == record.storage >= 0 for w in op.writes):
                yield Update(parameter, op, kept=True)
            elif op.name in _ADDING and record.storage in given and _shaped(facts, op, parameter):
                yield Update(parameter, op, kept=False)
        of.update(dict.fromkeys(op.outputs, found))


def _shaped(facts: Facts, op: Op, parameter: int) -> bool:
    tensors = facts.capture.tensors
    return [tensors[t].shape for t in op.outputs] == [tensors[parameter].shape]


def misled_updates(facts: Facts) -> Iterator[Finding]:
    """What is wrong with updates of the program's own."""
    made = tuple(updates(facts))
    yield from _without_effect(facts, made)
    yield from _added_up(facts, made)


def _without_effect(facts: Facts, made: tuple[Update, ...]) -> Iterator[Finding]:
    """Updates that went to a variable of the program (``p = p - lr * p.grad``), never to the parameter itself."""
    lost = _dropped(facts, made)
    for site in dict.fromkeys(update.op.site for update in lost):
        mine = [update for update in lost if update.op.site == site]
        names = list(dict.fromkeys(facts.name(update.parameter) for update in mine))
        place = facts.capture.place(site)
        instead = (in_place(place.source) if place is not None else "") or "p -= lr * p.grad"
        yield Finding(
            "AG305",
            "gradient-protocol",
            "warning",
            f"the new values of {folded(names)} were computed from the gradients and then dropped: assigning them to a "
            f"variable changes no parameter, so {folded(names)} {'do' if len(names) > 1 else 'does'} not move",
            f"Update in place, under torch.no_grad(): `{instead}`.",
            facts.chain(site, "new value computed and dropped here"),
            tuple(names),
            ops=(mine[0].op.index,),
        )


def _added_up(facts: Facts, made: tuple[Update, ...]) -> Iterator[Finding]:
    """Gradients that nothing cleared after an update by hand: the next backward adds to them."""
    late: dict[int, dict[str, tuple[Update, Backward]]] = {}
    for update in made:
        parameter = update.parameter
        run = next(facts.timeline.runs_to(parameter).since(update.op.index + 1), None) if update.kept else None
        if run is not None and parameter in run.stale and not renewed(facts, [parameter], update.op.index, run):
            late.setdefault(update.op.site, {}).setdefault(facts.name(parameter), (update, run))
    for site, found in late.items():
        _, run = next(iter(found.values()))
        which = f"`{next(iter(found))}.grad = None`" if len(found) == 1 else "`p.grad = None` for each parameter p"
        yield Finding(
            "AG305",
            "gradient-protocol",
            "warning",
            f"{folded(found)} still had the .grad of the update before, and nothing cleared it: gradients add up from "
            "round to round",
            f"Clear the gradient after each update: {which}.",
            unique([*facts.chain(run.site, "added to old gradients here"), *facts.chain(site, "updated here")]),
            tuple(found),
            ops=tuple(update.op.index for update, _ in found.values()),
        )


def _dropped(facts: Facts, made: tuple[Update, ...]) -> list[Update]:
    """Updates whose result nothing read, of parameters that the next round used as they were, each time."""
    capture = facts.capture
    lost: dict[tuple[int, int], list[Update]] = {}
    for update in made:
        if not update.kept:
            lost.setdefault((update.parameter, update.op.site), []).append(update)
    return [
        found[0]
        for (parameter, _), found in lost.items()
        if next(facts.timeline.runs_to(parameter).since(found[0].op.index + 1), None) is not None
        and not any(capture.readers.get(t) for update in found for t in update.op.outputs)
        and not _written(facts, parameter, found[0].op.index)
        and not _other_holder(facts, found)
    ]


def _written(facts: Facts, parameter: int, since: int) -> bool:
    storage = facts.capture.tensors[parameter].storage
    return any(True for _ in facts.writes_to(storage, parameter, since, len(facts.capture.ops)))


def _other_holder(facts: Facts, found: list[Update]) -> bool:
    """Whether another tensor has the new value's memory: a parameter made of it, what ``.data`` was set to."""
    made = {t for update in found for t in update.op.outputs}
    tensors = facts.capture.tensors
    memory = {tensors[t].storage for t in made} - {-1}
    return any(record.storage in memory and record.id not in made for record in tensors)
