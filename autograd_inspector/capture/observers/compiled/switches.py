"""Switches of the grad mode in a compiled graph that is run step by step."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from autograd_inspector.capture.compiled.plan import Step
from autograd_inspector.capture.compiled.thrown import thrown
from autograd_inspector.capture.observers.calls.regions import Regions
from autograd_inspector.capture.torch_private.modes import DisableTorchFunction, set_grad_enabled


class Switching:
    """Throws them in the order of the graph, and tells the regions of the capture."""

    def __init__(self, regions: Regions) -> None:
        self._regions = regions
        self._before: list[bool] = []

    def switch(self, enabled: bool, following: Sequence[Step], outer: int) -> None:  # noqa: FBT001 - torch's own order
        """Dynamo writes both ends of a block alike: the one that brings the earlier mode back is taken for its end."""
        earlier = torch.is_grad_enabled()
        with DisableTorchFunction():
            set_grad_enabled(enabled)
        if self._before and self._before[-1] == enabled:
            self._before.pop()
            self._regions.leave()
            return
        self._before.append(earlier)
        step = next((step for step in following if step.frames), Step(-1, None))
        self._regions.enter_thrown(thrown(step.frames, step.torchs, enabled=enabled), outer)
