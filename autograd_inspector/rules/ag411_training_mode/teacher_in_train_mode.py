"""AG411: a part that nothing trains and that runs in train mode all the same: a teacher, a frozen backbone."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.callers import called_on, callee
from autograd_inspector.analysis.modules.evaluated_in_train_mode import EvaluatedInTrainMode
from autograd_inspector.analysis.modules.modes_not_passed_on import NotPassedOn
from autograd_inspector.analysis.modules.train_mode_effects import InTrainMode, untrained_in_train_mode
from autograd_inspector.analysis.modules.undone_statistics import undone_statistics
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import ModuleCall
from autograd_inspector.model.remedy import Insert, Remedies
from autograd_inspector.model.wording import agree, join_names

_NAMED = 3


def untrained(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each part."""
    for found in untrained_in_train_mode(analysis):
        yield _problem(analysis, found)
    for undone in undone_statistics(analysis):
        yield _put_back(analysis, undone)


def _put_back(analysis: Analysis, found: InTrainMode) -> Problem:
    """Layers that may learn, and whose statistics were to stay."""
    names = layers(analysis, found.counting)
    them, were = agree(names, "it", "them"), agree(names, "it was", "they were")
    api = found.undone.api if found.undone is not None else "train()"
    return Problem(
        "warning",
        f"eval() of {join_names(names, _NAMED)} has no effect: {api} put {them} back into train mode before {were} "
        f"called, and {agree(names, 'it updates its', 'they update their')} running statistics (running_mean, running_var)",
        f"Call eval() of {agree(names, 'the layer', 'these layers')} after {api}, or override train() of the model to do so.",
        (
            *analysis.places((found.undone, "put back into train mode here")),
            *analysis.places((found.switch, "put into eval mode here"), (found.call, "called in train mode here")),
        ),
        tuple(names[:_NAMED]),
        ops=(found.op.index,),
    )


def _problem(analysis: Analysis, found: InTrainMode) -> Problem:
    name = analysis.capture.display_names.layer(found.call)
    if found.switch is not None and found.undone is not None:
        why = f"{found.undone.api} put it back into train mode before it was called"
        text = f"{found.switch.api} has no effect on {name}, which is frozen: {why}, and {effects(analysis, found)}"
        fix = (
            f"Call {name}.eval() after each train() of the enclosing model, or override train() of that model to do so."
        )
    elif found.handed_on:
        text = f"{name} is frozen and in train mode, as the model around it is: {effects(analysis, found)}"
        fix = (
            f"If its statistics should stay as they are, call {name}.eval() after each train() of a model that contains it: "
            "requires_grad_(False) does not change the mode. If they should follow the new data, nothing needs to change."
        )
    else:
        more = " any more" if found.frozen is not None else ""
        text = (
            f"{name} is in train mode although nothing trains it{more}, and its output goes into the loss: "
            f"{effects(analysis, found)}"
        )
        fix = f"Call {name}.eval() before training, and after each train() of a model that contains it: no_grad() and requires_grad_(False) do not change the mode."
    used = analysis.user_frames(found.op.site, "called in train mode here")
    return Problem(
        "info" if found.handed_on else "warning",
        text,
        fix,
        (
            *(analysis.user_frames(found.undone.site, "put into train mode here") if found.undone else ()),
            *(analysis.user_frames(found.call.site, "called in train mode here") or used),
            *(analysis.user_frames(found.switch.site, "put into eval mode here") if found.switch else ()),
            *analysis.places((found.frozen, "frozen here")),
        ),
        (name, *layers(analysis, (*found.dropping, *found.counting))[:_NAMED]),
        ops=(found.op.index,),
        cures=tuple(_evaluated(analysis, found)),
    )


def _evaluated(analysis: Analysis, found: InTrainMode) -> Iterator[Remedies]:
    """The part is in eval mode again: right after what put it into train mode, or right before it is called."""
    undone = analysis.capture.place(found.undone.site) if found.undone is not None else None
    name = called_on(analysis.capture.place(found.switch.site), "eval") if found.switch is not None else ""
    if undone is not None and name:
        yield (Insert(undone, f"{name}.eval()", "behind"),)
    if undone is not None:
        within = called_on(undone, "train")
        path = found.call.path
        if within and path:
            yield (Insert(undone, f"{within}.{path}.eval()", "behind"),)
    place = analysis.capture.place(found.call.site)
    called = callee(place)
    if place is not None and called:
        yield (Insert(place, f"{called}.eval()"),)


def effects(analysis: Analysis, found: InTrainMode | EvaluatedInTrainMode | NotPassedOn) -> str:
    """What train mode changes, by the layers that do it."""
    dropping, counting = layers(analysis, found.dropping), layers(analysis, found.counting)
    parts = []
    if dropping:
        parts.append(f"{join_names(dropping, _NAMED)} {agree(dropping, 'drops', 'drop')} values at random")
    if counting:
        their = agree(counting, "its", "their")
        parts.append(
            f"{join_names(counting, _NAMED)} {agree(counting, 'updates', 'update')} {their} running statistics"
        )
    return " and ".join(parts)


def layers(analysis: Analysis, calls: tuple[ModuleCall, ...]) -> list[str]:
    """The names of the modules that were called, each once."""
    return list(dict.fromkeys(analysis.capture.display_names.layer(call) for call in calls))
