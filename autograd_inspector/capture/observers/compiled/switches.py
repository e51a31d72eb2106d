"""Switches of the grad mode in a compiled graph, which says when one is thrown, and not by which line."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from autograd_inspector.capture.compiled.code_places import Frame
from autograd_inspector.capture.compiled.plan import Step
from autograd_inspector.capture.lines.sources import line_at, source_at
from autograd_inspector.capture.observers.calls.regions import Regions
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.torch_private.modes import DisableTorchFunction, set_grad_enabled
from autograd_inspector.source.blocks import Blocks

_CALLS = {False: ("no_grad", "set_grad_enabled", "inference_mode"), True: ("enable_grad", "set_grad_enabled")}


class Switching:
    """Throws them in the order of the graph, and tells the regions of the capture."""

    def __init__(self, recording: Recording, regions: Regions) -> None:
        self._recording = recording
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
        frames = next((step.frames for step in following if step.frames), ())
        name, line, place = _thrown(frames, enabled=enabled)
        stacks = self._recording.stacks
        chain = frames[place:]
        if line:
            code, _, library = chain[0]
            self._regions.enter_at(f"torch.{name}()", stacks.of_frames(((code, -1 - line, library), *chain[1:]), outer))
        elif chain:
            code = chain[0][0]
            site = stacks.of_frames(chain, outer)
            self._regions.enter_at(f"torch.{name}()", site, code.co_qualname, stacks.of_code(code))
        else:
            self._regions.enter_at(f"torch.{name}()", stacks.of_frames(frames, outer))


def _thrown(frames: Sequence[Frame], *, enabled: bool) -> tuple[str, int, int]:
    """(what was called, the line of its block, in which frame); no line: a decorator of that frame's function."""
    for place, (code, at, library) in enumerate(frames):
        source = None if library else source_at(code.co_filename)
        if source is None:
            continue
        blocks, line = source.index(Blocks), line_at(code, at)
        found = max((blocks.around(line, name), name) for name in _CALLS[enabled])
        if found[0] >= code.co_firstlineno:
            return found[1], found[0], place
        definition = source.definition_at(code.co_firstlineno)
        if definition is not None and definition.decorator_list:
            return _CALLS[enabled][0], 0, place
    return _CALLS[enabled][0], 0, len(frames)
