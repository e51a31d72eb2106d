"""Switches of the grad mode in a compiled graph that is run step by step."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from autograd_inspector.capture.compiled.code_places import Frame
from autograd_inspector.capture.compiled.plan import Step
from autograd_inspector.capture.compiled.thrown import is_around, is_written, thrown
from autograd_inspector.capture.lines.thrown import Thrown
from autograd_inspector.capture.observers.calls.regions import Regions
from autograd_inspector.capture.torch_private.modes import DisableTorchFunction, set_grad_enabled


class Switching:
    """Throws them in the order of the graph, and tells the regions of the capture."""

    def __init__(self, regions: Regions) -> None:
        self._regions = regions
        self._before: list[bool] = []
        self._thrown: list[Thrown] = []
        """Of the switches that are on, as the program wrote them."""
        self._frames: tuple[Frame, ...] = ()

    def switch(self, enabled: bool, following: Sequence[Step], outer: int) -> None:  # noqa: FBT001 - torch's own order
        """Dynamo writes both ends of a block alike: the one that brings the earlier mode back is taken for its end."""
        earlier = torch.is_grad_enabled()
        with DisableTorchFunction():
            set_grad_enabled(enabled)
        if self._before and self._before[-1] == enabled:
            self._before.pop()
            self._thrown.pop()
            self._regions.leave()
            return
        self._before.append(earlier)
        step = next((step for step in following if step.frames), Step(-1, None))
        switch = thrown(step.frames, step.torchs, enabled=enabled)
        self._frames = step.frames
        self._thrown.append(switch)
        self._regions.enter_thrown(switch, outer)

    def follow(self, step: Step, outer: int) -> None:
        """Tell the region anew where a step lies in another one: Dynamo drops a switch back that another follows."""
        if not self._thrown or step.frames is self._frames or not step.frames:
            return
        enabled, last = torch.is_grad_enabled(), self._thrown[-1]
        self._frames = step.frames
        if is_around(last, step.frames, enabled=enabled):
            return
        switch = thrown(step.frames, step.torchs, enabled=enabled)
        if is_written(switch):
            self._thrown[-1] = switch
            self._regions.throw_anew(switch, outer)
