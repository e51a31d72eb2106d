"""Where the parameters of an optimizer, their gradients and their state live: metadata only."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace
from torch import Tensor
from torch.optim import Optimizer

from autograd_inspector.capture.graph_walk.saved_tensors import place_of, short
from autograd_inspector.capture.lines.kinds import Kinds
from autograd_inspector.capture.observers.optimizers.groups import groups_of
from autograd_inspector.capture.observers.optimizers.spread import elsewhere, sharding_of, state_of
from autograd_inspector.capture.observers.optimizers.state_contents import (
    Allowance,
    Found,
    StateContents,
    plain_contents,
    under_no_parameter,
)
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import (
    device_of,
    dtype_of,
    gradient_of,
    is_leaf,
    nbytes_of,
    needs_grad,
    plain_layout,
    shape_of,
    storage_of,
    version_of,
)
from autograd_inspector.capture.torch_private.distributed import local_of
from autograd_inspector.model.placement_rows import Gradient, ParameterRow, StateEntry
from autograd_inspector.model.settings import PlainSetting, Settings, SettingText
from autograd_inspector.model.wording import agree, counted, join_names

_SHOWN_TYPES = Kinds(bool, int, float, str, type(None))
_SHORT_TUPLE = 4
_WRAPPERS = 3
_LARGEST = 2**63 - 1
_WRITTEN = 10_000
_TOLD = 6


class Rows:
    """One row a parameter of an optimizer (names and models are filled in when the recording freezes).

    State of a parameter that no group holds any more has a row with group -1. The state that a
    ``ZeroRedundancyOptimizer`` keeps on other ranks is told by the rank alone.
    """

    def __init__(self, recording: Recording, optimizer: Optimizer, number: int) -> None:
        self._recording = recording
        self._number = number
        self._steps = recording.optimizers[number].steps
        self._left: dict[str, str] = {}
        self._allowance = Allowance()
        state, ranks = state_of(optimizer), elsewhere(optimizer)
        held: set[int] = set()
        self.rows: list[ParameterRow] = []
        for group_number, group in enumerate(groups_of(optimizer)):
            for parameter in group["params"]:
                held.add(id(parameter))
                row = self._row(parameter, group_number, state.get(parameter, {}))
                rank = ranks.get(id(parameter))
                self.rows.append(row if rank is None else replace(row, stepped_by=rank))
        for key, left in state.items():
            if isinstance(key, Tensor) and id(key) not in held:
                self.rows.append(self._row(key, -1, left))
        for name, tensors in under_no_parameter(state):
            total = sum(nbytes_of(state_tensor.tensor) for state_tensor in tensors)
            self._left[f"`{name}`"] = (
                f"{counted(len(tensors), 'tensor')} that {agree(tensors, 'belongs', 'belong')} to no parameter, "
                f"{total:,} bytes"
            )

    def _row(self, parameter: Tensor, group: int, state: Any) -> ParameterRow:
        plain = plain_contents(state)
        if plain is not None:
            return row_of(self._recording, parameter, self._number, group, plain, self._steps)
        contents = StateContents(state, self._allowance)
        self._left |= {f"`{name}` of a parameter": why for name, why in contents.left.items()}
        return row_of(self._recording, parameter, self._number, group, contents.tensors, self._steps)

    def note(self, kind: str) -> str:
        """What of the optimizer's state is in no row and no total, "" where that is nothing."""
        reasons = [f"{name} ({why})" for name, why in self._left.items()]
        return (
            f"Of {kind}'s state, these entries are in no row and in no total: {join_names(reasons, _TOLD)}."
            if reasons
            else ""
        )


def unwrapped(optimizer: Any) -> Any:
    """The optimizer inside LightningOptimizer, AcceleratedOptimizer and the like, however often it is wrapped."""
    for _ in range(_WRAPPERS):
        inner = getattr(optimizer, "optimizer", None)
        if not isinstance(inner, Optimizer):
            break
        optimizer = inner
    return optimizer


def row_of(
    recording: Recording,
    parameter: Tensor,
    optimizer: int = -1,
    group: int = -1,
    state: Iterable[Found] = (),
    steps: int = 0,
) -> ParameterRow:
    """The facts of one parameter, its gradient and its state, which so many steps have written."""
    grad = gradient_of(parameter) if is_leaf(parameter) else None
    return ParameterRow(
        *held(recording, parameter),
        tensor=recording.id_of(parameter),
        requires_grad=needs_grad(parameter),
        gradient=None if grad is None else Gradient(*held(recording, grad), version=version_of(grad)),
        optimizer=optimizer,
        group=group,
        state=tuple([_entry(recording, state_tensor, max(steps, 1)) for state_tensor in state]),
    )


def _entry(recording: Recording, state_tensor: Found, steps: int) -> StateEntry:
    """State that no op of the capture ever met gets no number: nothing else tells of it."""
    registered = recording.registry.entry_of(state_tensor.tensor)
    number = -1 if registered is None else registered.tensor
    return StateEntry(
        *held(recording, state_tensor.tensor),
        name=state_tensor.name,
        tensor=number,
        holder=state_tensor.holder,
        written=version_of(state_tensor.tensor) // steps,
    )


def held(recording: Recording, tensor: Tensor) -> tuple[Any, ...]:
    """The fields of a Held record, in its order."""
    layout = plain_layout(tensor)
    if layout is not None:
        address, shape, dtype, nbytes = layout
        storage = recording.registry.storage_at(address, tensor)
        return shape, short(dtype), place_of(tensor), nbytes, storage, tensor.untyped_storage().nbytes(), None
    local = local_of(tensor)
    local_tensor = tensor if local is None else local
    storage = recording.registry.storage_of(local_tensor)
    return (
        tuple(shape_of(tensor)),
        short(dtype_of(tensor)),
        short(device_of(local_tensor)),
        nbytes_of(tensor),
        storage,
        storage_of(local_tensor).nbytes() if storage >= 0 else 0,
        None if local is None else sharding_of(tensor, shape_of(local), nbytes_of(local)),
    )


def settings_of(group: dict[str, Any]) -> Settings:
    """The hyper-parameters of a parameter group; not those that are no plain values, as tensors are."""
    settings: Settings = {}
    for key, value in dict.items(group):
        name, kind = _text(key), type(value)
        if issubclass(kind, tuple) and tuple.__len__(value) <= _SHORT_TUPLE:
            settings[name] = tuple(map(_plain, tuple.__iter__(value)))
        elif issubclass(kind, _SHOWN_TYPES.kinds):
            settings[name] = _plain(value)
    settings.pop("params", None)
    return settings


def _plain(value: Any) -> PlainSetting:
    """The value itself where a report can hold it as it is, else what it reads like."""
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value  # type: ignore[no-any-return]
    if kind is int and abs(value) <= _LARGEST:
        return value  # type: ignore[no-any-return]
    if issubclass(kind, float):
        number = float.__float__(value)
        return number if math.isfinite(number) else SettingText(str(number))
    return SettingText(_text(value))


def _text(value: Any) -> str:
    """What a plain value reads like, whatever its class makes of that; of anything else its type."""
    kind = type(value)
    if issubclass(kind, str):
        return str.__str__(value)
    if issubclass(kind, int) and kind is not bool:
        # Python refuses to write integers of some thousand digits.
        bits = int.bit_length(value)
        return int.__repr__(value) if bits < _WRITTEN else f"an integer of {bits} bits"
    return repr(value) if kind in _SHOWN_TYPES else f"<{kind.__name__}>"
