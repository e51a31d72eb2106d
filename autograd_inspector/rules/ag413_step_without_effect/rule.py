"""AG413: steps of an optimizer that change no parameter."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of, names_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.advice.remedies.optimizers import made_again
from autograd_inspector.advice.remedies.protocol import moved_beside
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.idle_schedulers import (
    CopiedGroups,
    CopiedRates,
    LeftBehind,
    copied_groups,
    copied_rates,
    left_behind,
)
from autograd_inspector.analysis.optimizers.idle_steps import (
    AtZero,
    NoLongerMoved,
    RoundedAway,
    at_zero,
    dropped_updates,
    no_longer_moved,
    rounded_away,
)
from autograd_inspector.analysis.optimizers.left_early import LeftEarly, left_early
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.analysis.optimizers.unread_options import UnreadOption, unread_options
from autograd_inspector.model.event import Step
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.program_events import (
    OptionStray,
    ParametersConverted,
    SchedulerStepped,
    StateLoaded,
    UpdateDropped,
)
from autograd_inspector.model.remedy import WriteInto
from autograd_inspector.model.rewrites import GoOn, TrueDivision
from autograd_inspector.model.wording import agree, join_names, summarize_names
from autograd_inspector.rules.ag413_step_without_effect.levelled import levelled
from autograd_inspector.rules.ag413_step_without_effect.loaded_over import loaded_over
from autograd_inspector.rules.ag413_step_without_effect.outdated import never_read_again
from autograd_inspector.rules.ag413_step_without_effect.overwritten_rate import overwritten
from autograd_inspector.rules.ag413_step_without_effect.overwritten_update import overwritten_updates
from autograd_inspector.rules.ag413_step_without_effect.undone import undone


def check(analysis: Analysis) -> Iterator[Problem]:
    """A `step()` changes nothing: lr is 0, updates are dropped or rounded away, it returns early, the schedule is another's.

    Why it matters
        The loop runs, the loss is finite, and nothing is trained. A warm-up that starts at 0 stays there if its factor is
        an integer division, or if the scheduler is stepped once per epoch. `p = p - lr * p.grad` rebinds a variable and
        does not change the parameter. A scheduler drives the optimizer it was created with: if a new optimizer replaces
        that one, the learning rate of the new optimizer stays constant. And most schedulers compute the
        lr from their own schedule: an lr that is set by hand lasts until their next step. `load_state_dict()` brings the options
        of the saved groups back, over those that were passed to the constructor. A number that `.item()` read from a
        parameter stays what it was, whatever the steps make of the parameter.

    Example
        ::

            scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: (step + 1) // 10)
            for _ in range(3):
                optimizer.zero_grad()
                net(x).pow(2).mean().backward()
                optimizer.step()
                scheduler.step()

    Fix
        ::

            scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: (step + 1) / 10)
            for _ in range(3):
                optimizer.zero_grad()
                net(x).pow(2).mean().backward()
                optimizer.step()
                scheduler.step()

    References
        "torch.optim", sections "How to adjust learning rate" and "Base class".
    """
    for event, step in dropped_updates(analysis):
        yield _dropped(analysis, event, step)
    yield from undone(analysis)
    yield from overwritten_updates(analysis)
    yield from overwritten(analysis)
    yield from loaded_over(analysis)
    yield from never_read_again(analysis)
    yield from levelled(analysis)
    for found in at_zero(analysis):
        yield _at_zero(analysis, found)
    for rounded in rounded_away(analysis):
        yield _rounded_away(analysis, rounded)
    for behind in left_behind(analysis):
        yield _left_behind(analysis, behind)
    for copied in copied_groups(analysis):
        yield _copied_groups(analysis, copied)
    for rates in copied_rates(analysis):
        yield _copied_rates(analysis, rates)
    for stopped in no_longer_moved(analysis):
        yield _no_longer_moved(analysis, stopped)
    for early in left_early(analysis):
        yield _left_early(analysis, early)
    yield from (_stray(analysis, event) for event in analysis.capture.events_of(OptionStray))
    for unread in unread_options(analysis):
        yield _unread(analysis, unread)


def _no_longer_moved(analysis: Analysis, found: NoLongerMoved) -> Problem:
    names = names_of(analysis, found.tensors)
    return Problem(
        "warning",
        f"{found.optimizer.type} moved {summarize_names(names)} before, but none of its last {len(found.steps)} steps does, "
        f"although {agree(names, 'it has a gradient', 'they have gradients')} and the lr is not 0",
        "Make step() check the gradients in each call. Something decides once which parameters it moves, and keeps that.",
        analysis.places(
            (found.steps[0], "step() called here, changes nothing from now on"),
            (found.without, "step() found no gradients here"),
            (found.optimizer, "optimizer created here"),
        ),
        (found.optimizer.type, *names),
        ops=(found.steps[0].op,),
    )


def _left_early(analysis: Analysis, found: LeftEarly) -> Problem:
    names = names_of(analysis, found.tensors)
    gap = names_of(analysis, (found.gap,)) if found.gap >= 0 else []
    at = "".join(f", {name}" for name in gap)
    return Problem(
        "warning",
        f"{found.optimizer.type}.step() ends at the first parameter without a gradient{at}: {summarize_names(names)} "
        f"{agree(names, 'comes', 'come')} after it, and {agree(names, 'it has a gradient and does', 'they have gradients and do')} not move",
        "Skip that parameter alone: `if p.grad is None: continue`.",
        analysis.places(
            (found.event.site if found.event.site >= 0 else None, "returns from within the loop here"),
            (found.steps[-1], "step() called here"),
            (found.optimizer, "optimizer created here"),
        ),
        (found.optimizer.type, *names, *gap),
        ops=(found.steps[-1].op,),
        cures=at_line(analysis, found.event.site, GoOn),
    )


def _left_behind(analysis: Analysis, found: LeftBehind) -> Problem:
    kinds = join_names(dict.fromkeys(made.type for made in found.made)) or found.stepped.type
    if found.loaded is not None:
        return _parted_by_a_load(analysis, found, kinds, found.loaded)
    name, following = variable(analysis, found.following), found.following
    old, new = found.optimizer.type, following.type
    which = f"a new {new}" if old == new else f"{new}"
    return Problem(
        "warning",
        f"{kinds} changes the lr of an optimizer ({old}) that no longer steps: {which} has taken over "
        "its parameters and steps without a scheduler",
        f"Create the scheduler again for the new optimizer: `{kinds}({name}, ...)`.",
        analysis.places(
            (following, "optimizer created here, without a scheduler"),
            *((made, "scheduler created here") for made in found.made),
            (found.stepped, "scheduler stepped here"),
            (found.step, "the new optimizer steps here"),
        ),
        (kinds, new, "lr"),
        ops=(found.step.op,),
        cures=tuple(cure for made in found.made[-1:] for cure in made_again(analysis, made.site, following.site)),
    )


def _parted_by_a_load(analysis: Analysis, found: LeftBehind, kinds: str, loaded: StateLoaded) -> Problem:
    outer, inner = found.optimizer.type, found.following.type
    return Problem(
        "warning",
        f"{kinds} changes the lr in the param_groups of {outer}, but {inner}, which steps, has others: its "
        "load_state_dict() replaced the param_groups that both had shared",
        f"Share them again after the load: `self.param_groups = inner.param_groups` in the load_state_dict() of {outer}.",
        analysis.places(
            (loaded, "state loaded here, with new param_groups"),
            *((made, "scheduler created here") for made in found.made),
            (found.stepped, "scheduler stepped here"),
            (found.step, "steps with its own lr here"),
        ),
        (kinds, outer, inner, "lr", "param_groups"),
        ops=(found.step.op,),
    )


def _copied_groups(analysis: Analysis, found: CopiedGroups) -> Problem:
    kinds = join_names(dict.fromkeys(made.type for made in found.made)) or found.stepped.type
    outer, inner = found.wrapper.type, found.inner.type
    return Problem(
        "warning",
        f"{kinds} changes the lr in the param_groups of {outer}, which are copies: {inner}, which steps with the same "
        "parameters, has other param_groups, and its lr stays the same",
        _SHARE.format(outer),
        analysis.places(
            (found.groups, "param_groups copied here"),
            *((made, "scheduler created here") for made in found.made),
            (found.stepped, "scheduler stepped here"),
            (found.step, "steps with its own lr here"),
            (found.inner, "optimizer created here"),
        ),
        (kinds, outer, inner, "lr", "param_groups"),
        ops=(found.step.op,),
    )


_SHARE = (
    "Share the groups: `self.param_groups = inner.param_groups` in {}, or create the scheduler for the inner optimizer."
)


def _copied_rates(analysis: Analysis, found: CopiedRates) -> Problem:
    outer, inner = found.wrapper.type, found.nested.inner
    return Problem(
        "warning",
        f"the lr in the param_groups of {outer} changes, and they are copies: {inner}, which {outer}.step() calls with the "
        "same parameters, has other param_groups, and its lr stays the same",
        _SHARE.format(outer),
        analysis.places(
            (found.groups, "param_groups copied here"),
            (found.nested, "steps with its own lr here"),
            (found.step, "called with another lr in the copies here"),
            (found.wrapper, "optimizer created here"),
        ),
        (outer, inner, "lr", "param_groups"),
        ops=(found.step.op,),
    )


def _stray(analysis: Analysis, event: OptionStray) -> Problem:
    where = f"{event.owner}[{event.option!r}]" if event.owner else f".{event.option}"
    optimizer = analysis.capture.placement.optimizers[event.optimizer]
    return Problem(
        "warning",
        f"{event.option} was written to {where} of {event.type}, which step() does not read: the {event.option} of its parameter "
        "groups stays what it was",
        f'Write to the groups: `for group in optimizer.param_groups: group["{event.option}"] = ...`, or use a scheduler.',
        analysis.places((event, "written here"), (optimizer, "optimizer created here")),
        (event.option, event.type),
    )


def _unread(analysis: Analysis, found: UnreadOption) -> Problem:
    """A hint: the program may read an option of its own, a factor for its schedule."""
    kind, groups = found.optimizer.type, join_names(map(str, found.groups))
    which = f"{agree(found.groups, 'group', 'groups')} {groups}"
    known = [option for option in found.optimizer.groups[0] if option != found.option]
    return Problem(
        "info",
        f"{kind} does not know {found.option}, which parameter {which} {agree(found.groups, 'has', 'have')}: step() does not read it",
        f"If {kind} is meant to use it, give it a name that {kind} knows: {join_names(known, 6)}. If the program reads it itself, "
        "nothing needs to change.",
        analysis.user_frames(found.optimizer.site, "given to the optimizer here"),
        (found.option, kind),
    )


def _dropped(analysis: Analysis, event: UpdateDropped, step: Step) -> Problem:
    names = [name_of(analysis, tensor) for tensor in event.tensors]
    none = "these parameters" if step.counted else "any parameter"
    return Problem(
        "warning",
        f"{event.api} computes new values of {summarize_names(names)} and drops them: it does not write to {none}, so "
        f"{agree(names, 'it does', 'they do')} not change",
        "Write the new value into the parameter, under torch.no_grad(): `p.copy_(new_value)`, or in place "
        "`p.sub_(lr * update)`. Assigning to the variable `p` only rebinds the name, and reshape() may return a copy.",
        analysis.places((event, "new value computed and dropped here"), (step, "step() called here")),
        tuple(names),
        ops=(step.op,),
        cures=at_line(analysis, event.site, lambda place: WriteInto(place, recorded=False)),
    )


def _rounded_away(analysis: Analysis, found: RoundedAway) -> Problem:
    capture, last = analysis.capture, found.steps[-1]
    names = names_of(analysis, found.tensors)
    dtype = capture.tensors[found.tensors[0]].dtype
    casts = [e for e in capture.events_of(ParametersConverted) if not set(found.tensors).isdisjoint(e.tensors)]
    count = len(found.steps)
    often = f"none of {count} steps changes" if count > 1 else "the step does not change"
    return Problem(
        "warning",
        f"the updates of {summarize_names(names)} are rounded away: {often} a bit of {agree(names, 'its', 'their')} {dtype} "
        f"values, although {agree(names, 'it has a gradient', 'they have gradients')}",
        f"Keep the parameters in float32 and compute in {dtype} under torch.autocast(), or use an optimizer that keeps "
        "float32 copies of them. An update changes a value only if it is at least about 1/256 of the value in bfloat16, "
        "1/2048 in float16.",
        analysis.places(*((cast, f"cast to {dtype} here") for cast in casts[-1:]), (last, "step() called here")),
        (*names, dtype),
        ops=(last.op,),
    )


def _ran_out(analysis: Analysis, found: AtZero, kinds: str, made: list[Location]) -> Problem:
    """A schedule that was over before the training."""
    optimizer, count, last = found.optimizer, len(found.steps), found.steps[-1]
    moved = [event for event in analysis.capture.events_of(SchedulerStepped) if event.optimizer == optimizer.id]
    return Problem(
        "warning" if found.alone else "info",
        f"the lr of {optimizer.type} reached 0 before its last {count} steps, so they change nothing: {kinds} ended "
        f"after {len(found.before)} of {len(found.before) + count} steps",
        "Set the length of the schedule to the number of calls to its step(): all updates of the training, if it is called "
        "once after each optimizer step. With gradient accumulation, call it next to the optimizer's step(), not with every "
        "batch.",
        (
            *analysis.places(*((event, "scheduler stepped here") for event in moved[-1:])),
            *made,
            *analysis.places((last, "step() called here, at lr 0")),
        ),
        (optimizer.type, "lr"),
        ops=(last.op,),
        cures=tuple(moved_beside(analysis, [event.site for event in moved[-1:]], last.site)),
    )


def _at_zero(analysis: Analysis, found: AtZero) -> Problem:
    optimizer, last = found.optimizer, found.steps[-1]
    name, kinds = variable(analysis, optimizer), join_names(made.type for made in found.schedulers) or "its scheduler"
    factors = [
        frame
        for made in found.schedulers
        for site in made.factors
        for frame in analysis.user_frames(site, "its factor comes from here")[:1]
    ]
    made = [frame for event in found.schedulers for frame in analysis.user_frames(event.site, "scheduler created here")]
    stepped = list(analysis.user_frames(last.site, "step() called here, at lr 0"))
    if found.before:
        return _ran_out(analysis, found, kinds, made)
    given = not found.schedulers and "initial_lr" not in optimizer.groups[0]
    by_hand = given and found.made_with > 0
    if by_hand:
        why = f"it was created with lr={found.made_with:.3g}, and the program sets 0 in the groups before each step()"
        fix = (
            "Write an lr above 0 to the groups: a warm-up counts the steps of the optimizer, and begins above 0, "
            "`(step + 1) / warmup`."
        )
        places = [
            *analysis.places(*((line, "lr set here") for line in found.lines)),
            *stepped,
            *analysis.user_frames(optimizer.site, "optimizer created here"),
        ]
    elif given:
        why = "it was created with lr=0, and nothing changes the lr"
        fix = f"Set a learning rate for {name}: for example, `{optimizer.type}(..., lr=1e-3)`."
        places = [*analysis.user_frames(optimizer.site, "optimizer created here"), *stepped]
    elif found.moved_on:
        why = f"{kinds} returns the factor 0 every time it is stepped"
        fix = (
            "Start the schedule above 0: for example, `(step + 1) / warmup_steps`. The integer division `//` gives 0 "
            "until the warm-up ends."
        )
        places = [*factors, *made, *stepped]
    else:
        why = f"{kinds} starts at 0 and is not stepped between these steps"
        fix = (
            f"Call the scheduler's step() after each {name}.step() if the schedule counts steps, or start it above "
            "0: for example, `(step + 1) / warmup`."
        )
        later = [
            frame for event in found.later[:1] for frame in analysis.user_frames(event.site, "scheduler stepped here")
        ]
        places = [*stepped, *later, *made, *factors]
    return Problem(
        "warning" if found.alone and (by_hand or not given) else "info",
        f"the lr of {optimizer.type} is 0 in all {optimizer.steps:,} steps, so they change nothing: {why}",
        fix,
        tuple(places),
        (optimizer.type, "lr"),
        ops=(last.op,),
        cures=tuple(
            (
                *((TrueDivision(place),) for place in (*factors, *made)),
                *moved_beside(analysis, _stepped_too_often(analysis, found), last.site),
            )
            if found.moved_on
            else moved_beside(analysis, [event.site for event in found.later[:1]], last.site)
        ),
    )


def _stepped_too_often(analysis: Analysis, found: AtZero) -> list[int]:
    """Where the schedule is stepped, if that is more often than the optimizer: with each micro-batch."""
    events = [event for event in analysis.capture.events_of(SchedulerStepped) if event.optimizer == found.optimizer.id]
    return [event.site for event in events[-1:]] if len(events) > len(found.steps) else []
