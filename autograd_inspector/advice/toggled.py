"""Lightning's ``toggle_optimizer()``: it freezes what other optimizers hold, until ``untoggle_optimizer()`` is called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from autograd_inspector.advice.remedies.meeting import meeting
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.event import RequiresGradChanged, Step
from autograd_inspector.model.location import Location
from autograd_inspector.model.remedy import Insert, Remedies
from autograd_inspector.model.wording import join_names

_TOGGLE = "toggle_optimizer"


class LeftToggled(Struct, frozen=True):
    """``code`` undoes what was toggled at ``site``, and belongs behind the step at ``step``."""

    site: int
    code: str
    step: Location


def left_toggled(analysis: Analysis, tensors: Iterable[int], until: int) -> tuple[LeftToggled, ...]:
    """Where an optimizer was toggled, has stepped, and still keeps some of the tensors frozen.

    Source: ``LightningModule.toggle_optimizer``, "Manual optimization" in the documentation of Lightning.
    """
    changes = analysis.lifecycle.frozen(tensors, until=until)
    by_site = {change.site: change for change in changes}
    return tuple(dict.fromkeys(found for change in by_site.values() for found in _undone(analysis, change, until)))


def _undone(analysis: Analysis, change: RequiresGradChanged, until: int) -> Iterator[LeftToggled]:
    frames = analysis.capture.site(change.site)
    toggles = any(frame.library and frame.function.rpartition(".")[2] == _TOGGLE for frame in frames)
    call = next((frame for frame in frames if not frame.library), None)
    step = _next_step(analysis, change, until) if toggles else None
    pair = meeting(analysis, change.site, step.site) if step is not None else None
    if call is None or pair is None:
        return
    owner, found, given = call.expression.partition(f".{_TOGGLE}(")
    if found:
        yield LeftToggled(change.site, f"{owner}.un{_TOGGLE}({given}", pair[1])


def _next_step(analysis: Analysis, change: RequiresGradChanged, until: int) -> Step | None:
    """The first step since then of an optimizer that does not hold what was frozen: it was toggled for that one."""
    held = {optimizer.id: optimizer.held for optimizer in analysis.capture.placement.optimizers}
    steps = (step for step in analysis.capture.steps if change.at <= step.at < until)
    return next((step for step in steps if change.tensor not in held.get(step.optimizer, ())), None)


def untoggled(left: Iterable[LeftToggled]) -> Iterator[Remedies]:
    """Each of them is undone right behind the step that it was for."""
    remedies = tuple(Insert(each.step, each.code, "behind") for each in left)
    if remedies:
        yield remedies


def to_untoggle(left: Iterable[LeftToggled]) -> str:
    """The advice."""
    code = join_names((f"`{each.code}`" for each in left), 2)
    return (
        f"Call {code} after step(): toggle_optimizer() keeps the parameters of the other optimizers frozen until then."
    )
