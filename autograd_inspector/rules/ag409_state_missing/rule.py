"""AG409: optimizer state that is missing, or that a load refused."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.before_load.groups import group_problems
from autograd_inspector.advice.before_load.names import name_problems, no_optimizer
from autograd_inspector.advice.before_load.problems import before_loading
from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.optimizer_snippets import group_added, model_of
from autograd_inspector.advice.remedies.meeting import meeting
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.loads import is_refusal, loads_of
from autograd_inspector.analysis.optimizers.state_lines import assigned_by_program
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import LoadRefused, OptimizerCreated, ParameterRegistered, StateAbsent
from autograd_inspector.model.remedy import Insert, Move, Operand, Remedies
from autograd_inspector.model.wording import agree, summarize_names
from autograd_inspector.rules.ag409_state_missing.in_vain import made_after_the_load
from autograd_inspector.rules.ag409_state_missing.lost import never_kept
from autograd_inspector.rules.ag409_state_missing.outlived import never_put_back
from autograd_inspector.rules.ag409_state_missing.rearranged import rows_without_state
from autograd_inspector.rules.ag409_state_missing.regrouped import other_groups, regrouped
from autograd_inspector.rules.ag409_state_missing.schedule import begins_anew
from autograd_inspector.rules.ag409_state_missing.tensor_keys import state_key
from autograd_inspector.rules.ag409_state_missing.unloaded import never_loaded


def check(analysis: Analysis) -> Iterator[Problem]:
    """Some stepped parameters have no state while others do, or a load was refused because the groups differ.

    Why it matters
        After a resume, parameters without state restart with zero moments while the rest continue. If a group has more
        parameters than in the checkpoint, nothing is loaded at all. An optimizer that creates its state when it is built
        has no state for parameters that are unfrozen later. If the loop creates the optimizer or clears its state, every
        step starts without state. If earlier weights are loaded and the optimizer state that was saved with them is not, the
        optimizer continues with moments of steps that no longer count. A scheduler has state too: without it, the learning
        rate of a resumed run starts at the warm-up again. If a file gives the parameters back and its optimizer state is not
        loaded, the moments restart from zero.
        If the rows of a parameter are sorted or permuted and its state is not, each row is updated with the moments of
        another one.

    Example
        ::

            checkpoint = torch.optim.Adam(net[1:].parameters()).state_dict()
            torch.optim.Adam(net.parameters()).load_state_dict(checkpoint)

    Fix
        ::

            checkpoint = torch.optim.Adam(net[1:].parameters()).state_dict()
            optimizer = torch.optim.Adam(net[1:].parameters())
            optimizer.load_state_dict(checkpoint)
            optimizer.add_param_group({"params": net[0].parameters()})

    References
        torch.optim.Optimizer.load_state_dict, torch.optim.Optimizer.add_param_group.
    """
    yield from before_loading(analysis, name_problems, no_optimizer, group_problems)
    yield from state_key(analysis)
    yield from never_kept(analysis)
    yield from made_after_the_load(analysis)
    yield from never_put_back(analysis)
    yield from begins_anew(analysis)
    yield from never_loaded(analysis)
    yield from rows_without_state(analysis)
    for event in analysis.capture.events:
        if isinstance(event, LoadRefused) and is_refusal(event.error):
            yield from _refused(analysis, event)
        elif isinstance(event, StateAbsent):
            steps = analysis.timeline.steps_of(event.optimizer).all
            stepped = {p.tensor for s in steps for p in s.parameters if p.gradient >= 0}
            bare = [t for t in event.tensors if t in stepped]
            if bare:
                yield _missing(
                    analysis,
                    analysis.capture.placement.optimizers[event.optimizer],
                    [name_of(analysis, t) for t in bare],
                )


def _refused(analysis: Analysis, load: LoadRefused) -> Iterator[Problem]:
    """The saved groups have other sizes: name what was unfrozen or added since."""
    capture = analysis.capture
    thawed = analysis.lifecycle.unfrozen(load.tensors, until=load.at)
    added = [] if thawed else _added(analysis, load)
    new = [c.tensor for c in thawed] or [c.tensor for c in added] or list(load.tensors)
    names = [name_of(analysis, t) for t in new]
    sizes = f"saved groups: {list(load.saved_groups)} and optimizer groups: {list(load.own_groups)}"
    have = agree(names, "has", "have")
    what = f"{have} required grad since" if thawed else f"{have} been added to the model since"
    what = (
        f"; {summarize_names(names)} {what}" if thawed or added else f"; the optimizer holds {summarize_names(names)}"
    )
    optimizer = capture.placement.optimizers[load.optimizer]
    if not thawed and not added and regrouped(load):
        yield other_groups(analysis, load, optimizer, names)
        return
    yield Problem(
        "error",
        f"{load.api} refused the checkpoint: its groups hold different numbers of parameters ({sizes}){what}",
        "Build the optimizer with the parameters that it had when the checkpoint was written, load the checkpoint, then call "
        "add_param_group({'params': [...]}) for the new parameters.",
        analysis.places(
            *((c, "unfrozen here") for c in thawed[-2:]),
            *((c, "added here") for c in added[-2:]),
            (load, "loaded here"),
        ),
        tuple(names),
        cures=(*_thawed_later(analysis, load, optimizer, [c.site for c in thawed]), *_whole(analysis, load, optimizer)),
    )


def _whole(analysis: Analysis, load: LoadRefused, optimizer: OptimizerRecord) -> Iterator[Remedies]:
    """The optimizer gets all of the model, where the checkpoint has one group with as many parameters as that."""
    model, place = model_of(analysis, load.tensors), analysis.capture.place(optimizer.site)
    roots = {analysis.capture.owners.get(t, -1) for t in load.tensors}
    every = [t for t, root in analysis.capture.owners.items() if root in roots]
    if model and place is not None and len(load.own_groups) == 1 and load.saved_groups == (len(every),):
        yield (Operand(place, "first", f"{model}.parameters()"),)


def _added(analysis: Analysis, load: LoadRefused) -> list[ParameterRegistered]:
    """What the model got after an optimizer had already been made, that of the checkpoint presumably."""
    before = analysis.capture.events[: analysis.capture.events.index(load)]
    first = next((i for i, event in enumerate(before) if isinstance(event, OptimizerCreated)), len(before))
    return [e for e in before[first:] if isinstance(e, ParameterRegistered) and e.tensor in load.tensors]


def _missing(analysis: Analysis, optimizer: OptimizerRecord, names: list[str]) -> Problem:
    return Problem(
        "warning",
        f"{optimizer.type}: {summarize_names(names)} {agree(names, 'has', 'have')} no state after loading, but the other "
        f"parameters do: {agree(names, 'its', 'their')} moments start from zero",
        "Check that the checkpoint was written with the same parameters in the same order.",
        (
            *loads_of(analysis, optimizer),
            *assigned_by_program(analysis, optimizer),
            *analysis.user_frames(optimizer.site, "optimizer created here"),
        ),
        tuple(names),
    )


def _thawed_later(
    analysis: Analysis, load: LoadRefused, optimizer: OptimizerRecord, thawed: list[int]
) -> Iterator[Remedies]:
    """What was unfrozen is unfrozen once the checkpoint is loaded, and joins the optimizer in a group of its own."""
    pairs = {site: meeting(analysis, site, load.site) for site in thawed}
    moves = tuple(Move(*pair) for pair in pairs.values() if pair is not None)
    if not moves or len(moves) < len(pairs):
        return
    tensors = [c.tensor for c in analysis.lifecycle.unfrozen(load.tensors, until=load.at)]
    group = group_added(analysis, optimizer, tensors)
    if group:
        yield (*moves, Insert(moves[0].to, group, "behind"))
    yield moves
