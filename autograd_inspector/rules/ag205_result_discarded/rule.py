"""AG205: a new value that is computed and thrown away."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of, names_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.gradients.dropped import goes_on_without, starved_by
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.memory.backups import never_restored
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.optimizers.lost_updates import LostLoad, loads_begun_anew, lost_loads
from autograd_inspector.analysis.ranks.summoned import EditLost, edits_lost
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.program_events import ResultDiscarded
from autograd_inspector.model.remedy import Remedies, SetArgument, WriteInto
from autograd_inspector.model.rewrites import KeepResult, ReturnIt
from autograd_inspector.model.wording import agree, join_names, summarize_names
from autograd_inspector.rules.ag205_result_discarded.averages import not_kept
from autograd_inspector.rules.ag205_result_discarded.averages_left_in import left_in
from autograd_inspector.rules.ag205_result_discarded.solved_in_hooks import not_returned
from autograd_inspector.rules.ag205_result_discarded.stale_masters import loaded_under_masters
from autograd_inspector.rules.ag205_result_discarded.unread_derivatives import unread_derivatives
from autograd_inspector.rules.ag205_result_discarded.written_copies import into_copies_for_views, written_in_vain

_UPDATES = (
    OpKind.ADDS
    | OpKind.SUBTRACTS
    | OpKind.MULTIPLIES
    | OpKind.DIVIDES
    | OpKind.CLAMPS
    | OpKind.NEGATES
    | OpKind.INTERPOLATES
    | OpKind.SETS_NUMBER
    | OpKind.REDUCES
)
"""What computes a new value of what it is given, and has a form that writes it."""
_REWRITES = OpKind.ADDS | OpKind.SUBTRACTS | OpKind.MULTIPLIES | OpKind.DIVIDES | OpKind.CLAMPS | OpKind.INTERPOLATES
"""What writes a new value that depends on the old one."""


def check(analysis: Analysis) -> Iterator[Problem]:
    """A new value that nothing uses: `p.clamp(-1, 1)` returns it, `p.clamp_(-1, 1)` writes it.

    Why it matters
        The parameter keeps its value, so weights are not clipped, a target network is never updated, a decay
        has no effect. `p = (1 - tau) * p + tau * q` in a loop only rebinds the name `p`, and the result is lost
        in the next iteration; the same holds where a function returns the result and its caller drops it. What is
        changed in a copy of the gradients must be copied back. A
        hook that binds `grad` to a new tensor must return it. The same holds for gradients that are clipped,
        and for a step of the forward: `scores.masked_fill(mask, -inf)` masks nothing. A gradient penalty that
        is not added to the loss, or adapted parameters that it is not computed with, regularize and train
        nothing.

    Example
        ::

            for p in net.parameters():
                p.data.clamp(-0.01, 0.01)

    Fix
        ::

            for p in net.parameters():
                p.data.clamp_(-0.01, 0.01)

    References
        "In-place operations" in the documentation of torch.Tensor: methods that end in an underscore modify the tensor.
    """
    by_line: dict[object, list[ResultDiscarded]] = {}
    in_hooks: dict[object, list[ResultDiscarded]] = {}
    spread = {row.tensor for row in analysis.capture.placement.rows if row.sharding is not None}
    for event in analysis.capture.events_of(ResultDiscarded):
        if event.written:
            if event.of != "gradients" or is_a(event.name, _REWRITES):
                yield written_in_vain(analysis, event, sharded=spread.issuperset(event.tensors))
        elif event.in_hook:
            in_hooks.setdefault(line_of(analysis, event.site), []).append(event)
        elif event.of == "values":
            if goes_on_without(analysis, event):
                yield _dropped(analysis, event)
        elif is_a(event.name, _UPDATES):
            by_line.setdefault(line_of(analysis, event.site), []).append(event)
    for events in in_hooks.values():
        yield _unreturned(analysis, events)
    for events in by_line.values():
        yield _problem(analysis, events)
    yield from _unrestored(analysis)
    yield from left_in(analysis)
    yield from (_lost_load(analysis, load, begun_anew=False) for load in lost_loads(analysis))
    yield from (_lost_load(analysis, load, begun_anew=True) for load in loads_begun_anew(analysis))
    yield from (_not_written_back(analysis, lost) for lost in edits_lost(analysis.capture, analysis.reductions))
    yield from loaded_under_masters(analysis)
    yield from unread_derivatives(analysis)
    yield from not_returned(analysis)
    yield from not_kept(analysis)
    yield from into_copies_for_views(analysis)


def _problem(analysis: Analysis, events: list[ResultDiscarded]) -> Problem:
    names = names_of(analysis, dict.fromkeys(tensor for event in events for tensor in event.tensors))
    if events[0].of == "gradients":
        return _of_gradients(analysis, events, names)
    return Problem(
        "warning",
        f"`{_returned_by(events[0])}` returns a new tensor, computed from {summarize_names(names)}, that nothing uses: no "
        "parameter changes here",
        "Write the new value into the parameter, under torch.no_grad(): `p.copy_(new_value)`, or the form of the method "
        "that ends in an underscore (`p.clamp_(...)`, `p.mul_(...)`). An assignment to a variable or to a dict only binds that name to another tensor.",
        _where(analysis, events, "new value"),
        tuple(names),
        ops=tuple(event.at for event in events),
        cures=tuple(_written(analysis, events[0])),
    )


def _of_gradients(analysis: Analysis, events: list[ResultDiscarded], names: list[str]) -> Problem:
    return Problem(
        "warning",
        f"`{_returned_by(events[0])}` returns a new tensor, computed from the {agree(names, 'gradient', 'gradients')} of "
        f"{summarize_names(names)}, that nothing uses: step() takes the {agree(names, 'gradient as it is', 'gradients as they are')}",
        "Write the new value into the gradient: `p.grad.copy_(new_value)`, or the form of the method that ends in an "
        "underscore (`p.grad.mul_(...)`, `p.grad.clamp_(...)`).",
        _where(analysis, events, "new gradient"),
        tuple(names),
        ops=tuple(event.at for event in events),
        cures=at_line(analysis, events[0].site, lambda place: WriteInto(place, recorded=False)),
    )


def _dropped(analysis: Analysis, event: ResultDiscarded) -> Problem:
    """The statement has no effect: what follows goes on with the old value, and by it nothing learns."""
    owner = name_of(analysis, event.tensors[-1])
    starved = names_of(analysis, starved_by(analysis, event))
    why = f": {summarize_names(starved)} {agree(starved, 'gets', 'get')} no gradient" if starved else ""
    return Problem(
        "warning",
        f"`{_returned_by(event)}` returns a new tensor that nothing uses, and {owner} keeps its old value{why}",
        f"Assign the result: `x = {event.function}(x, ...)`."
        if event.function
        else f"Assign the result: `x = x.{event.name}(...)`.",
        _where(analysis, [event], "new value"),
        (owner, *starved),
        ops=(event.at,),
        cures=at_line(analysis, event.site, lambda place: KeepResult(place, bool(event.function))),
    )


def _returned_by(event: ResultDiscarded) -> str:
    return event.function or event.name


def _where(analysis: Analysis, events: list[ResultDiscarded], what: str) -> tuple[Location, ...]:
    """Where the results were dropped, and where a function of the program's computed what it returned."""
    roles = ("dropped here" if event.function else f"{what} computed and dropped here" for event in events)
    within = (analysis.capture.ops[event.at].site for event in events if event.function)
    return analysis.places(*zip(events, roles, strict=True), *((site, f"{what} computed here") for site in within))


def _written(analysis: Analysis, event: ResultDiscarded) -> Iterator[Remedies]:
    """The new value is written into the parameter."""
    ops = analysis.capture.ops
    recorded = event.at >= len(ops) or analysis.capture.regions[ops[event.at].region].kind == "enabled"
    yield from at_line(analysis, event.site, lambda place: WriteInto(place, recorded))


def _not_written_back(analysis: Analysis, lost: EditLost) -> Problem:
    """The full parameters are given back their shards, which nothing was written to."""
    names = names_of(analysis, lost.tensors)
    there = analysis.user_frames(lost.gathered.site, "parameters gathered here")
    return Problem(
        "warning",
        f"`{lost.edit.name}` changes {summarize_names(names)} while FullyShardedDataParallel has gathered all of "
        f"{agree(names, 'it', 'them')}, and no rank writes the new values to its shard: "
        f"{agree(names, 'the parameter keeps its old value', 'the parameters keep their old values')}",
        "Leave `writeback=False` out where parameters are changed: with `FSDP.summon_full_params(model)` each rank "
        "writes its part back.",
        (*analysis.user_frames(lost.edit.site, "changed here"), *there),
        tuple(names),
        ops=(lost.edit.index,),
        cures=tuple((SetArgument(place, "summon_full_params", "writeback", ""),) for place in there[:1]),
    )


def _unreturned(analysis: Analysis, events: list[ResultDiscarded]) -> Problem:
    """A hook that computes a gradient for nobody, whichever backward() calls it."""
    event, tensors = events[0], dict.fromkeys(tensor for event in events for tensor in event.tensors)
    names = names_of(analysis, tensors)
    hooks = [hook for hook in analysis.capture.tensor_hooks if hook.tensor in tensors]
    of = f" of {summarize_names(names)}" if names else ""
    return Problem(
        "warning",
        f"`{event.name}` returns a new tensor in a hook, which drops it and returns nothing: the gradients{of} stay as they "
        "are",
        "Return the new gradient from the hook: `return new_grad`.",
        analysis.places(
            (event, "new gradient computed and discarded here"), *((hook, "hook registered here") for hook in hooks[:1])
        ),
        tuple(names),
        ops=tuple(event.at for event in events),
        cures=at_line(analysis, event.site, ReturnIt),
    )


def _unrestored(analysis: Analysis) -> Iterator[Problem]:
    """Copies of parameters that were to be put back."""
    for backups in grouped(never_restored(analysis), lambda backup: line_of(analysis, backup.written.site)).values():
        first = max((each for each in backups if each.written is backups[0].written), key=lambda each: each.taken.index)
        names = names_of(analysis, dict.fromkeys(backup.tensor for backup in backups))
        yield Problem(
            "warning",
            f"{summarize_names(names)} {agree(names, 'was', 'were')} copied before `{first.written.name}` wrote "
            f"{agree(names, 'it', 'them')}, and nothing ever reads the {agree(names, 'copy', 'copies')}: training continues with the new values",
            f"Copy the old {agree(names, 'value', 'values')} back before the next step: `p.copy_(backup)` under "
            "torch.no_grad().",
            analysis.places(
                (first.written, "written here, and not restored"),
                (first.taken, "copied here"),
                (analysis.capture.ops[first.step], "step() continues from there"),
            ),
            tuple(names),
            ops=(first.written.index,),
        )


def _lost_load(analysis: Analysis, found: LostLoad, *, begun_anew: bool) -> Problem:
    """Values of a checkpoint that a forward overwrites, or an initialization."""
    names = names_of(analysis, found.tensors)
    by, it = join_names(dict.fromkeys(f"`{op.name}`" for op in found.writes)), agree(names, "it", "them")
    how = f"initializes {it} again" if begun_anew else f"in the next forward overwrites {it}"
    return Problem(
        "warning",
        f"the values that {found.loaded.api} wrote into {summarize_names(names)} are lost: {by} {how} before anything is "
        f"computed with {it}",
        "Initialize first, and load afterwards; or initialize only the layers that are not loaded."
        if begun_anew
        else "Save with the model that its parameters are initialized: keep the flag in a registered buffer, which is part "
        "of the state_dict, and check it first.",
        analysis.places(
            *((op, "initialized again here" if begun_anew else "overwritten here") for op in found.writes),
            (found.loaded, "loaded here, without effect"),
        ),
        tuple(names),
        ops=(found.writes[0].index,),
    )
