"""AG417: an attribute that is switched for an evaluation, and keeps its value when training continues."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.callers import called_on
from autograd_inspector.analysis.modules.left_switched import LeftSwitched, left_switched
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import AttributeSwitched
from autograd_inspector.model.remedy import Insert, Remedies
from autograd_inspector.model.wording import agree, summarize_names

_CONSTANTS = {"True", "False", "None"}


def left_as_switched(analysis: Analysis) -> Iterator[Problem]:
    """A warning where an evaluation is what it was switched for; else a hint: a schedule may switch a part off."""
    for found in left_switched(analysis):
        event, names = found.event, names_of(analysis, found.tensors)
        which = f"`{event.name}` of {event.path or 'the model'} ({event.type})"
        since = "since an evaluation" if found.for_a_look else "since then"
        again = f"`{event.name} = {event.before}`" if event.before in _CONSTANTS else f"`{event.name}`"
        yield Problem(
            "warning" if found.for_a_look else "info",
            f"{summarize_names(names)} got {agree(names, 'a gradient', 'gradients')} from each backward() until {which} changed from "
            f"{event.before} to {event.after}, and {agree(names, 'gets', 'get')} none {since}: nothing sets it back",
            f"Set {again} again before training continues."
            if found.for_a_look
            else f"Set {again} again if this part should be trained. If it is switched off on purpose, nothing needs to change.",
            analysis.places(
                (event if event.site >= 0 else None, "set here"),
                (found.resumed, "training continues here"),
                (found.run, "backward() reaches less from here on"),
            ),
            tuple(names),
            cures=tuple(_set_back(analysis, found)),
        )


def _set_back(analysis: Analysis, found: LeftSwitched) -> Iterator[Remedies]:
    """Next to the call that puts the model back into train mode."""
    event, mode = found.event, found.resumed
    place = None if mode is None else analysis.capture.place(mode.site)
    owner = called_on(place, "train")
    if mode is not None and place is not None and owner and event.before in _CONSTANTS:
        yield (Insert(place, f"{owner}{_path(event, mode.path)} = {event.before}", "behind"),)


def _path(event: AttributeSwitched, outer: str) -> str:
    """The attribute, as an expression on the module that ``train()`` was called on."""
    parts = [*event.path.removeprefix(outer).strip(".").split("."), event.name]
    return "".join(f"[{part}]" if part.isdigit() else f".{part}" for part in parts if part)
