"""Grad-mode regions: which switch put the program into which mode."""

from __future__ import annotations

import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch

from autograd_inspector.capture.lines.callables import code_of
from autograd_inspector.capture.lines.forwarding import is_handler
from autograd_inspector.capture.lines.stacks import SKIP, classify
from autograd_inspector.capture.lines.thrown import Thrown
from autograd_inspector.capture.lines.wrapping import Wrapped, condition_at, switched_at
from autograd_inspector.capture.observers.calls.outer_regions import OuterRegions
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.op import Region, RegionKind, Trait
from autograd_inspector.own_files import is_own

_WRAPPERS = torch.no_grad()(lambda: None).__code__.co_filename
"""Where torch has what `@torch.no_grad()` puts around a function."""
_SWITCHES = str(Path(torch.__file__).parent / "autograd" / "grad_mode.py")
_UNDOING = (".__exit__", ".__call__")
_AS_FUNCTION = "torch.set_grad_enabled("


def _kind(grad: bool, inference: bool) -> RegionKind:  # noqa: FBT001 - the pair is the mode
    return "inference_mode" if inference else "enabled" if grad else "no_grad"


Place = tuple[int, tuple[bool, bool], int]
"""(region, mode, how many regions it lies in)."""


class Regions:
    """Follows the grad mode. ``mode`` is the (grad, inference) pair of the region that the recording is in."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.mode = (torch.is_grad_enabled(), torch.is_inference_mode_enabled())
        self._outer = OuterRegions()
        self._switched: dict[tuple[tuple[bool, bool], str], int] = {}
        self._definitions: dict[int, tuple[int, Wrapped]] = {}
        self._conditions: dict[tuple[int, int], int] = {}
        self._of_graphs: set[int] = set()
        """Those in which torch runs parts of graphs, by a function that it calls a second time at their end."""
        recording.regions.append(Region(0, _kind(*self.mode)))

    def held(self) -> list[int]:
        """The regions that it may go back to."""
        return [*self._outer.innermost_first(), *self._switched.values()]

    def grad_mode_set(self) -> None:
        """``torch._C._set_grad_enabled`` has just run: the frames above tell which switch called it, and which way."""
        name = _switch(outside(sys._getframe(1)))
        if name.endswith(_UNDOING):
            self.leave()
        elif name and not name.startswith("set_grad_enabled."):
            self.enter(f"torch.{name.split('.')[0]}()")
        elif self._returns():
            self.leave()
        elif not (name.endswith(".__enter__") and _now() == self.mode):
            # `with set_grad_enabled(...)` switches twice: when it is made and when it is entered.
            self.enter(f"{_AS_FUNCTION}{torch.is_grad_enabled()})")

    def _returns(self) -> bool:
        """``set_grad_enabled(True)`` called as a function, after ``set_grad_enabled(False)``: the way back."""
        regions, around = self.recording.regions, next(self._outer.innermost_first(), None)
        now = self.recording.region
        if around is None or _now() == self.mode:
            return False
        if now not in self._of_graphs and not regions[now].api.startswith(_AS_FUNCTION):
            return False
        return regions[around].kind == _kind(*_now())

    def enter(self, api: str) -> None:
        """A switch was thrown; the mode that it set may be the one that was on already."""
        self._outer.push(self.recording.region)
        mode = _now()
        if mode == self.mode:
            return
        frame, stacks = outside(sys._getframe(1)), self.recording.stacks
        graphs = stacks.graph_code
        switch = graphs.switched(frame, enabled=mode[0]) if graphs is not None else None
        if switch is None:
            self._begin(mode, api, frame)
        else:
            self._begin_thrown(switch, stacks.at(frame))
            self._of_graphs.add(self.recording.region)

    def enter_thrown(self, switch: Thrown, outer: int) -> None:
        """A graph's code threw a switch. The lines that it was captured from were called from the stack ``outer``."""
        self._outer.push(self.recording.region)
        self._begin_thrown(switch, outer)

    def throw_anew(self, switch: Thrown, outer: int) -> None:
        """The same mode goes on by another switch: what lay between them was thrown back, and at once thrown again."""
        self._begin_thrown(switch, outer)

    def _begin_thrown(self, switch: Thrown, outer: int) -> None:
        recording, stacks = self.recording, self.recording.stacks
        self.mode, number = _now(), len(recording.regions)
        code = switch.decorated
        recording.regions.append(
            Region(
                number,
                _kind(*self.mode),
                switch.api,
                stacks.of_frames(switch.frames, outer),
                "" if code is None else code.co_qualname,
                -1 if code is None else stacks.of_code(code),
                switch.library,
                len(recording.ops),
            )
        )
        recording.region = number

    def leave(self) -> None:
        """A switch was undone: back to the innermost region of the mode that is on now."""
        mode = _now()
        region = self._around_of(mode)
        if region is not None:
            self._of_graphs.discard(self.recording.region)
            self._outer.back_to(region)
            self.mode, self.recording.region = mode, region
            return
        self._outer.cut(0)
        if mode != self.mode:
            self._begin(mode, "restored", None)

    def sync(self, grad: bool, inference: bool) -> None:  # noqa: FBT001 - the pair is the mode
        """An op ran in another mode than the last known one: C++ switched it."""
        mode = (grad, inference)
        earlier = self._around_of(mode)
        if earlier is not None:
            self.recording.region, self.mode = earlier, mode
            return
        traits = self.recording.traits
        api = "backward" if traits & int(Trait.BACKWARD) else "C++ code"
        api = "custom Function" if traits & int(Trait.INNER) else api
        wrapper = _wrapper_above(sys._getframe(1), mode) if api == "C++ code" else None
        key = api if wrapper is None else f"{id(_under(wrapper))}"
        region = self._switched.get((mode, key))
        if region is None:
            if wrapper is not None:  # A decorated optimizer step, unrecorded, called the program back: its closure.
                self._begin(mode, f"torch.{_kind(*mode)}()", wrapper, site=self.recording.stacks.at(wrapper))
            else:
                self._begin(mode, api, None, "" if api == "C++ code" else "torch.autograd")
            self._switched[mode, key] = self.recording.region
        else:
            self.recording.region, self.mode = region, mode

    def _around_of(self, mode: tuple[bool, bool]) -> int | None:
        """The innermost region of that mode around the current one."""
        kind, regions = _kind(*mode), self.recording.regions
        return next((region for region in self._outer.innermost_first() if regions[region].kind == kind), None)

    def place(self) -> Place:
        """Where the program is: C++ switches the mode from here on, and back."""
        return self.recording.region, self.mode, len(self._outer)

    def back_to(self, place: Place) -> None:
        """It has switched back: so do we, without a region for that."""
        region, mode, depth = place
        if _now() == mode:
            self.recording.region, self.mode = region, mode
            self._outer.cut(depth)

    def _begin(
        self, mode: tuple[bool, bool], api: str, frame: FrameType | None, library: str = "", site: int = -1
    ) -> None:
        recording = self.recording
        decorated = _decorated(frame)
        definition, wrapped = self._definition(decorated) if decorated is not None else (-1, "")
        site = site if site >= 0 else recording.stacks.here(2)
        number = len(recording.regions)
        recording.regions.append(
            Region(
                number,
                _kind(*mode),
                api=api,
                site=site,
                decorated=decorated.co_qualname if decorated is not None else "",
                definition=definition,
                library=library or ("" if _is_users(decorated) else _library(frame)),
                at=len(recording.ops),
                wrapped=wrapped,
                condition=self._condition(frame) if api.startswith(_AS_FUNCTION) else -1,
            )
        )
        self.mode, recording.region = mode, number

    def _condition(self, frame: FrameType | None) -> int:
        """Where the program set the variable that the switch in that frame was told the mode by."""
        while frame is not None and frame.f_code.co_filename == _SWITCHES:
            frame = frame.f_back
        key = (id(frame.f_code), frame.f_lineno) if frame is not None else (0, 0)
        site = self._conditions.get(key)  # It is part of the region's site, which keeps the code object.
        if site is None:
            site = self._conditions[key] = condition_at(self.recording.stacks, frame)
        return site

    def _definition(self, code: CodeType) -> tuple[int, Wrapped]:
        """Where the function under the switch got it, looked up once."""
        definition = self._definitions.get(id(code))  # Its site keeps the code object, so that the id stays its own.
        if definition is None:
            definition = self._definitions[id(code)] = switched_at(self.recording.stacks, code)
        return definition


def is_undoing(frame: FrameType | None) -> bool:
    """Whether a switch that has just been called in that frame puts the grad mode back.

    ``set_grad_enabled()`` called as a function may do either: switching it on is taken for the way back.
    """
    name = _switch(outside(frame))
    as_function = not name or name.startswith("set_grad_enabled.")
    return name.endswith(_UNDOING) or (as_function and torch.is_grad_enabled())


def _switch(frame: FrameType | None) -> str:
    """The method of torch's that switches the grad mode from that frame, "" where the program itself does."""
    name = ""
    while frame is not None and frame.f_code.co_filename == _SWITCHES:
        name, frame = frame.f_code.co_qualname, frame.f_back
    return name


def _now() -> tuple[bool, bool]:
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled()


def outside(frame: FrameType | None) -> FrameType | None:
    """The first frame that is neither the inspector's nor of a mode of torch's: its __enter__ / __exit__ / __init__.

    A default device is such a mode, and hands each call of torch on.
    """
    while frame is not None and (is_own(frame) or _hands_on(frame)):
        frame = frame.f_back
    return frame


def _hands_on(frame: FrameType) -> bool:
    return is_handler(frame) and classify(frame.f_code.co_filename) == SKIP


def _decorated(frame: FrameType | None) -> CodeType | None:
    """The function under a ``@torch.no_grad()`` when the switch comes from the decorator."""
    for _ in range(6):
        if frame is None:
            return None
        if _wraps(frame):
            return _under(frame)
        frame = frame.f_back
    return None


def _wraps(frame: FrameType) -> bool:
    """By its file and what it closes over, for its name is that of the decorator from torch 2.14 on."""
    return frame.f_code.co_filename == _WRAPPERS and "func" in frame.f_code.co_freevars


def _under(wrapper: FrameType) -> CodeType | None:
    # A frame of torch's own wrapper, never the user's: reading its locals keeps nothing of the program alive.
    func: Any = wrapper.f_locals.get("func")
    return code_of(func)


def _wrapper_above(frame: FrameType | None, mode: tuple[bool, bool]) -> FrameType | None:
    """The innermost running ``@torch.no_grad()`` wrapper of a function of the user's, where that mode is off."""
    while frame is not None and _kind(*mode) != "enabled":
        if _wraps(frame):
            return frame if _is_users(_under(frame)) else None
        frame = frame.f_back
    return None


def _is_users(code: CodeType | None) -> bool:
    """A decorated ``forward`` is the user's own, though torch's ``Module.__call__`` is what calls it."""
    return code is not None and classify(code.co_filename) != SKIP


def _library(frame: FrameType | None) -> str:
    """Torch's own module that made the switch on its own account ("torch.utils.checkpoint"), "" otherwise."""
    while frame is not None and classify(frame.f_code.co_filename) == SKIP:
        module = dict.get(frame.f_globals, "__name__")
        if (
            type(module) is str
            and module.startswith("torch.")
            and not module.startswith(("torch.autograd.grad_mode", "torch.utils._contextlib"))
        ):
            return module
        frame = frame.f_back
    return ""
