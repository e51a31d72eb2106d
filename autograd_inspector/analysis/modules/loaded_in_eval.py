"""Parts of a model that a library put into eval mode, as what it loads, and that are trained like that beside others.

The model around them is in train mode, and nothing ever put these into either mode again.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.training_modes import Modes, within
from autograd_inspector.analysis.parameters.unoptimized import path_in_model
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import ModuleCall
from autograd_inspector.model.program_events import ModeSwitched

_METHODS = frozenset({"train", "eval"})


class LoadedInEval(Struct, frozen=True):
    """``step`` is the first that trains the part, ``around`` the call in train mode that the part is called in.

    ``otherwise``: the calls of modules in it that compute otherwise than in train mode.
    """

    switch: ModeSwitched
    step: Step
    around: ModuleCall
    otherwise: tuple[ModuleCall, ...]


def loaded_in_eval(analysis: Analysis) -> Iterator[LoadedInEval]:
    """Each part once."""
    switches = analysis.capture.events_of(ModeSwitched)
    loaded = [switch for switch in switches if not switch.training and _by_library(analysis, switch)]
    if not loaded:
        return
    modes, told = Modes(analysis, switches), set()
    for step, made in modes.learning:
        parts: dict[tuple[int, str], list[ModuleCall]] = {}
        for call in modes.otherwise(made):
            mine = [s for s in switches if s.model == call.root and s.at <= call.at and within(call.path, s.path)]
            if mine and all(switch in loaded for switch in mine):
                parts.setdefault((call.root, mine[-1].path), []).append(call)
        for place, calls in parts.items():
            around = analysis.capture.outermost_call(calls[0].id)
            if place not in told and around.training and _learns(analysis, step, place):
                told.add(place)
                switch = next(s for s in reversed(loaded) if (s.model, s.path) == place)
                yield LoadedInEval(switch, step, around, tuple(calls))


def _by_library(analysis: Analysis, switch: ModeSwitched) -> bool:
    """Whether a library's code calls it, which a line of the program has called: who writes `eval()` means it.

    A library's class may extend the method itself.
    """
    frames = (
        frame for frame in analysis.capture.site(switch.site) if frame.function.rpartition(".")[2] not in _METHODS
    )
    caller = next(frames, None)
    return caller is not None and caller.library


def _learns(analysis: Analysis, step: Step, place: tuple[int, str]) -> bool:
    """Whether the step moves parameters of the part."""
    owners = analysis.capture.owners
    return any(
        p.gradient >= 0
        and owners.get(p.tensor) == place[0]
        and within(path_in_model(analysis.capture, p.tensor), place[1])
        for p in step.parameters
    )
