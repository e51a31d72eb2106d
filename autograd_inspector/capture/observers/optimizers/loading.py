"""``optimizer.load_state_dict``: what it was given, what it made of it, why it refused."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from autograd_inspector.capture.graph_walk.saved_tensors import short
from autograd_inspector.capture.lines.kinds import Kinds
from autograd_inspector.capture.observers.optimizers.groups import entries, groups_of, parameters_of, table
from autograd_inspector.capture.observers.optimizers.knowing import KnownOptimizers
from autograd_inspector.capture.observers.optimizers.live_states import LiveStates
from autograd_inspector.capture.observers.optimizers.modes import training_of
from autograd_inspector.capture.observers.optimizers.param_names import misnamed, names_of
from autograd_inspector.capture.observers.optimizers.replaced_options import numbers_of, replaced
from autograd_inspector.capture.observers.optimizers.spread import elsewhere, state_of
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import dtype_of, needs_grad
from autograd_inspector.messages import message_of
from autograd_inspector.model.program_events import (
    LiveStateLoaded,
    LoadRefused,
    StateAbsent,
    StateCast,
    StateLoaded,
    StateSwapped,
)

_KEYS = Kinds(int, str)
"""What a state_dict calls parameters by. Of another key the hash may be the program's code, or there may be none."""


class _Load:
    """A state_dict on its way into an optimizer: its dtypes, group sizes, and the exception being handled then.

    ``owners`` are, for each position, the parameters that the saved state is the living state of, where it is any's,
    and ``owner_names`` what their optimizer calls these. ``names`` and ``training`` are what the groups of the
    optimizer that loads say before, ``numbers`` their options. ``scheduled``: a scheduler had set the learning rates
    that come with the state.
    """

    def __init__(self, optimizer: Optimizer, state_dict: Any, handled: BaseException | None) -> None:
        self.dtypes = _dtypes(table(table(state_dict).get("state")))
        groups = [table(group) for group in entries(table(state_dict).get("param_groups"))]
        self.positions = [entries(group.get("params")) for group in groups]
        self.scheduled = bool(self.dtypes) and any("initial_lr" in group for group in groups)
        self.handled = handled
        self.owners: dict[int, int] = {}
        self.owner_names: dict[int, str] = {}
        self.names = names_of(optimizer)
        self.training = training_of(optimizer)
        self.numbers = numbers_of(optimizer)
        self.taken: int | None = None
        """Where it was taken, if it is the optimizer's own state, which was updated since."""


class Loads:
    """Notes what each load did to the optimizer."""

    def __init__(self, recording: Recording, optimizers: KnownOptimizers) -> None:
        self.recording = recording
        self._optimizers = optimizers
        self._live = LiveStates(lambda: recording.stacks.here(0))

    def taken(self, state_dict: Any) -> None:
        """``state_dict()`` returned that."""
        self._live.taken(state_dict)

    def begin(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Load:
        """What is about to be loaded."""
        state_dict = args[1] if len(args) > 1 else kwargs.get("state_dict")
        load = _Load(optimizer, state_dict, sys.exc_info()[1])
        self._note_owners(load, state_dict)
        load.taken = self._live.written_since(optimizer, state_dict)
        return load

    def _note_owners(self, load: _Load, state_dict: Any) -> None:
        """Note whose the state is that is still some optimizer's own."""
        living: dict[int, tuple[int, str]] = {}
        for _, optimizer in self._optimizers.alive():
            called = {id(p): name for p, name in zip(parameters_of(optimizer), names_of(optimizer), strict=False)}
            for parameter, state in state_of(optimizer).items():
                for value in dict.values(state) if issubclass(type(state), dict) else ():
                    if isinstance(value, Tensor):
                        living[id(value)] = self.recording.id_of(parameter), called.get(id(parameter), "")
        saved = table(table(state_dict).get("state"))
        for position, key in enumerate(key for group in load.positions for key in group):
            state = saved.get(key) if type(key) in _KEYS else None
            for value in table(state).values():
                if id(value) in living:
                    load.owners[position], load.owner_names[position] = living[id(value)]

    def end(self, optimizer: Optimizer, _args: Any, _kwargs: Any, load: _Load | None) -> None:
        """It is loaded, or was refused."""
        recording = self.recording
        raised = sys.exc_info()[1]
        if load is not None and raised is not None and raised is not load.handled:
            number = self._optimizers.id_of(optimizer)
            recording.events.append(
                LoadRefused(
                    len(recording.ops),
                    recording.stacks.here(0),
                    number,
                    type(optimizer).__name__,
                    recording.optimizers[number].held,
                    error=message_of(raised),
                    saved_groups=tuple(map(len, load.positions)),
                    own_groups=tuple([len(group["params"]) for group in groups_of(optimizer)]),
                    saved_state=tuple(load.dtypes),
                )
            )
            return
        number = self._optimizers.id_of(optimizer)
        self._optimizers.changed(optimizer, number)
        after = _dtypes(state_of(optimizer))
        casts = tuple(
            StateCast(name, dtype, after[name])
            for name, dtype in (load.dtypes if load is not None else {}).items()
            if name in after and after[name] != dtype and name != "step"
        )
        ids, kind = recording.optimizers[number].held, type(optimizer).__name__
        left = load is not None and bool(load.training) and not training_of(optimizer)
        at, site, scheduled = len(recording.ops), recording.stacks.here(0), load is not None and load.scheduled
        options = tuple(replaced(optimizer, load.numbers)) if load is not None else ()
        recording.events.append(StateLoaded(at, site, number, kind, ids, casts, left, scheduled, options))
        self._optimizers.snapshot(optimizer, number)
        if load is not None and load.taken is not None:
            at, site = len(recording.ops), recording.stacks.here(0)
            recording.events.append(LiveStateLoaded(at, site, number, kind, ids, load.taken))
        if load is not None:
            self._mismatched(optimizer, number, ids, load)

    def _mismatched(self, optimizer: Optimizer, number: int, ids: tuple[int, ...], load: _Load) -> None:
        """Note state that went to another parameter than it came from, and parameters that got none."""
        recording = self.recording
        swapped = [
            (ids[at], owner) for at, owner in load.owners.items() if at < len(ids) and ids[at] != owner and owner in ids
        ]
        by_name = (
            []
            if swapped
            else [(ids[at], ids[other]) for at, other in misnamed(optimizer, load.names, load.owner_names)]
        )
        flat = parameters_of(optimizer)
        state, others = state_of(optimizer), elsewhere(optimizer)
        absent = [p for p in flat if needs_grad(p) and not state.get(p) and id(p) not in others]
        kind, pairs = type(optimizer).__name__, tuple(swapped or by_name)
        if pairs:
            site = recording.stacks.here(0)
            recording.events.append(StateSwapped(len(recording.ops), site, number, kind, pairs, by_name=bool(by_name)))
        # Plain SGD keeps no state of any parameter.
        if absent and any(state.get(p) for p in flat):
            bare = tuple(map(recording.id_of, absent))
            recording.events.append(StateAbsent(len(recording.ops), recording.stacks.here(0), number, kind, bare))


def _dtypes(state: Mapping[Any, Any]) -> dict[str, str]:
    """The dtype of each kind of state entry ("exp_avg": "float32")."""
    dtypes: dict[str, str] = {}
    for values in state.values():
        for name, value in table(values).items():
            if issubclass(type(value), Tensor):
                dtypes.setdefault(str(name), short(dtype_of(value)))
    return dtypes
