"""AG204: values that were kept without a copy, and changed with the tensor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from autograd_inspector.advice.naming import name_of, names_of
from autograd_inspector.advice.remedies.in_place import out_of_place
from autograd_inspector.advice.spelling import is_path
from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.callers import called_on
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.memory.live_targets import live_targets
from autograd_inspector.analysis.memory.repeated_entries import RepeatedEntries, repeated_entries
from autograd_inspector.analysis.memory.self_copies import SelfCopy, self_copies
from autograd_inspector.analysis.memory.snapshots import Snapshot, aliased_snapshots
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import ModelsShared
from autograd_inspector.model.remedy import Operand, Remedies
from autograd_inspector.model.rewrites import DeepCopy, OwnCopy
from autograd_inspector.model.wording import agree, summarize_names
from autograd_inspector.rules.ag204_snapshot_not_copied.augmented import augmented_data
from autograd_inspector.rules.ag204_snapshot_not_copied.data_changed import data_changed
from autograd_inspector.rules.ag204_snapshot_not_copied.edited_state import edited_state
from autograd_inspector.rules.ag204_snapshot_not_copied.given import given
from autograd_inspector.rules.ag204_snapshot_not_copied.overwritten import overwritten
from autograd_inspector.rules.ag204_snapshot_not_copied.own_state import own_state_loaded
from autograd_inspector.rules.ag204_snapshot_not_copied.replayed import replayed
from autograd_inspector.rules.ag204_snapshot_not_copied.second_names import second_names
from autograd_inspector.rules.ag204_snapshot_not_copied.taken_over import taken_over


def check(analysis: Analysis) -> Iterator[Problem]:
    """A snapshot that shares memory with the tensors it was taken from: `state_dict()`, `.data` and `detach()` copy nothing.

    Why it matters
        The optimizer updates parameters in place, so the "old" values change too: restoring them restores
        nothing, their difference to the new ones is zero, and a comparison always finds no change. A target
        network that was made by `target = net` is the network itself; a snapshot that was assigned to `.data` is the
        parameter itself since; an average over clients is the last
        client; in a list to which one tensor was appended repeatedly, all entries are that tensor. An entry
        that is taken of a pool (`old = pool[i]`) is what is assigned there next. The same holds for a second
        name, `returns = advantages; returns += values`, and for the input of a module with `inplace=True`: a
        skip connection that adds it afterwards adds the new values. A recurrent policy that is computed again for its
        gradient starts from the last state where the rollout wrote each state into the first one. Samples that the
        program keeps and augments in place collect the masks and the noise of all epochs.

    Example
        ::

            best = net.state_dict()
            net(x).pow(2).mean().backward()
            optimizer.step()
            net.load_state_dict(best)

    Fix
        ::

            best = {name: value.clone() for name, value in net.state_dict().items()}
            net(x).pow(2).mean().backward()
            optimizer.step()
            net.load_state_dict(best)

    References
        torch.nn.Module.state_dict, torch.Tensor.detach: both return tensors that share storage; "Saving and loading
        models" in the PyTorch tutorials: "state = deepcopy(model.state_dict())".
    """
    for snapshots in grouped(
        chain(aliased_snapshots(analysis), live_targets(analysis)),
        lambda snapshot: (line_of(analysis, snapshot.taken.site), line_of(analysis, snapshot.used.site)),
    ).values():
        yield _problem(analysis, snapshots)
    for entries in repeated_entries(analysis):
        yield _repeated(analysis, entries)
    for copies in self_copies(analysis):
        yield _itself(analysis, copies)
    yield from edited_state(analysis)
    yield from data_changed(analysis)
    yield from augmented_data(analysis)
    yield from taken_over(analysis)
    yield from second_names(analysis)
    yield from overwritten(analysis)
    yield from own_state_loaded(analysis)
    yield from given(analysis)
    yield from replayed(analysis)


def _itself(analysis: Analysis, found: SelfCopy) -> Problem:
    names = names_of(analysis, found.tensors)
    done = "averaged with" if found.averages else "copied onto"
    often = "" if found.loaded else " in each iteration"
    named = _second_name(analysis, found)
    shared = [birth for of in found.op.inputs if (birth := _kept_without_copy(analysis, of, found.step)) is not None][
        :1
    ]
    return Problem(
        "info" if found.loaded and named is None else "warning",
        f"{summarize_names(names)} {agree(names, 'is', 'are')} {done} {agree(names, 'itself', 'themselves')}{often}: "
        f"source and target are the same {agree(names, 'tensor', 'tensors')}, and {_by(found.step)} moves both",
        _COPIED if shared else _TWO_MODELS,
        analysis.places(
            (named, "another name for the same model"),
            *((birth, "kept without a copy here") for birth in shared),
            (found.op, f"{done} itself here"),
            (found.step, "moved here"),
        ),
        tuple(names),
        ops=(found.op.index,),
        cures=tuple(_copies(analysis, found, named, shared)),
    )


_COPIED = "Keep a copy: `.detach().clone()` of a tensor; detach() and .data return the same memory."
_TWO_MODELS = (
    "If you need two models, make the second one a copy: `copy.deepcopy(model)`; `target = model` only gives the model "
    "another name, and `copy.copy(model)` shares its parameters."
)


def _copies(
    analysis: Analysis, found: SelfCopy, named: ModelsShared | None, shared: Sequence[Op]
) -> Iterator[Remedies]:
    """A copy of what was kept, else of the model where it got its second name, or where it is copied onto itself."""
    for birth in shared:
        place = analysis.capture.place(birth.site)
        if place is not None:
            yield (Operand(place, "whole", "{}.clone()"),)
    if not shared:
        for place in analysis.user_frames(-1 if named is None else named.site, "")[:1]:
            yield (OwnCopy(place),)
        for place in analysis.user_frames(found.op.site, "")[:1]:
            yield (DeepCopy(place),)


def _second_name(analysis: Analysis, found: SelfCopy) -> ModelsShared | None:
    """Where the model got the name by which it loads what it has, which is its own."""
    called = called_on(analysis.capture.place(found.op.site), "load_state_dict")
    events = (event for event in analysis.capture.events_of(ModelsShared) if not event.copied)
    return next((e for e in events if e.name == called and set(found.tensors) <= set(e.tensors)), None)


def _kept_without_copy(analysis: Analysis, tensor: int, step: Op) -> Op | None:
    """The op that took a tensor on the memory of another one, which the program still has after a step."""
    birth = analysis.flow.birth(tensor)
    kept = birth is not None and birth.index < step.index and is_a(birth.name, OpKind.ALIASES)
    return birth if kept else None


def _repeated(analysis: Analysis, found: RepeatedEntries) -> Problem:
    name = name_of(analysis, found.tensor)
    return Problem(
        "warning",
        f"`{found.stacked.name}` gets the same tensor {found.count} times: {name} was kept without a copy each time, "
        f"and `{found.changed.name}` changes it in place in between, so all {found.count} entries are equal",
        f"Keep a copy of each: `{name if is_path(name) else 'tensor'}.clone()` where it is stored, or compute a new tensor instead of changing it "
        "in place.",
        analysis.places(
            (found.stored, "stored without a copy here"),
            (found.changed, "changed in place here"),
            (found.stacked, "combined here"),
        ),
        (name,),
        ops=(found.stacked.index,),
        cures=tuple(
            (out_of_place(analysis, found.changed, place),)
            for place in analysis.user_frames(found.changed.site, "")[:1]
        ),
    )


def _problem(analysis: Analysis, snapshots: list[Snapshot]) -> Problem:
    first = snapshots[0]
    names = names_of(analysis, (snapshot.tensor for snapshot in snapshots))
    kept = f"{summarize_names(names)} {agree(names, 'was', 'were')} kept without a copy"
    changed = _by(first.changed)
    if first.restores:
        text = (
            f"{kept}: the old values share memory with the new ones, {changed} has changed both, and writing them back "
            "restores nothing"
        )
        used = "written onto itself here"
    elif first.sums:
        text = (
            f"{kept} several times: all of what was kept shares memory, {changed} has changed it in between, and "
            f"`{first.used.name}` adds the last values to themselves"
        )
        used = "added to itself here"
    elif first.teaches:
        text = (
            f"{kept}: the old values share memory with the new ones, {changed} has changed both, and the target of the loss is "
            f"computed with {agree(names, 'the value', 'the values')} that the loss trains"
        )
        used = "target computed here"
    else:
        text = (
            f"{kept}: the old values share memory with the new ones, {changed} has changed both, so they never differ"
        )
        used = "compared with itself here"
    return Problem(
        "warning",
        text,
        "Keep a copy: `.detach().clone()` of a tensor, `copy.deepcopy(model.state_dict())` of a model.",
        analysis.places((first.taken, "kept without a copy here"), (first.changed, "changed here"), (first.used, used)),
        tuple(names),
        ops=(first.used.index,),
        cures=tuple(_copied(analysis, first)),
        safe=True,
    )


def _copied(analysis: Analysis, snapshot: Snapshot) -> Iterator[Remedies]:
    """A copy where it was kept: of a whole state_dict, else of the tensor."""
    place = analysis.capture.place(snapshot.taken.site)
    if place is None:
        return
    if analysis.capture.sites[snapshot.taken.site].through == "Module.state_dict":
        yield (
            Operand(place, "whole", "{{k: v.clone() for k, v in {}.items()}}".replace("{{", "{").replace("}}", "}")),
        )
    yield (Operand(place, "whole", "{}.clone()"),)


def _by(op: Op) -> str:
    return f"{op.name}()" if op.has(Trait.STEP) else f"`{op.name}`"
