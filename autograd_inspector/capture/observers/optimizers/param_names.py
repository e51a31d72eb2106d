"""The names that an optimizer made from ``named_parameters()`` keeps in its groups, and that its checkpoints carry."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import FrameType

from torch.optim import Optimizer

from autograd_inspector.capture.lines.stacks import SKIP, classify
from autograd_inspector.capture.observers.optimizers.groups import entries, groups_of, parameters_of
from autograd_inspector.capture.observers.optimizers.spread import state_of
from autograd_inspector.capture.torch_private.modules import has_loading_hooks
from autograd_inspector.capture.torch_private.told import DECORATING
from autograd_inspector.model.renaming import bare
from autograd_inspector.own_files import is_own


def names_of(optimizer: Optimizer) -> list[str]:
    """The ``param_names`` of all groups, [] where they have none."""
    names = [name for group in groups_of(optimizer) for name in entries(group.get("param_names"))]
    return names if all(type(name) is str for name in names) else []


def misnamed(optimizer: Optimizer, before: Sequence[str], owners: Mapping[int, str]) -> list[tuple[int, int]]:
    """(position, the position of the parameter whose state it got), where the names that came along say so.

    Loading puts the saved names in the place of the optimizer's own, which were ``before``. They have to be the same
    in another order: other names tell nothing, and hooks on loading may have brought the state into the right one.
    ``owners``: position -> the name of the parameter whose living state was given, which knows better. Where torch
    itself loads (``set_optimizer_state_dict``), it has matched by name and kept the saved names.
    """
    caller = _caller(sys._getframe(1))
    if caller is not None and classify(caller.f_code.co_filename) == SKIP:
        return []
    names_before, now = [bare(name) for name in before], [bare(name) for name in names_of(optimizer)]
    same = sorted(names_before) == sorted(now) and len(set(names_before)) == len(names_before)
    if names_before == now or not same or has_loading_hooks(optimizer):
        return []
    state, parameters = state_of(optimizer), parameters_of(optimizer)
    return [
        (at, names_before.index(name))
        for at, name in enumerate(now)
        if name != names_before[at] and state.get(parameters[at]) and bare(owners.get(at, "")) != names_before[at]
    ]


def _caller(frame: FrameType | None) -> FrameType | None:
    """Who called ``load_state_dict``: the first frame past our own, the method's and what decorates it."""
    while frame is not None and (
        is_own(frame) or frame.f_code.co_name == "load_state_dict" or frame.f_code.co_filename.endswith(DECORATING)
    ):
        frame = frame.f_back
    return frame
