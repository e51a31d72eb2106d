"""Where the parameters of an optimizer, their gradients and their state live: metadata only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace
from torch import Tensor
from torch.optim import Optimizer

from autograd_inspector.capture.engine.graph_walk import short
from autograd_inspector.capture.optimizers.spread import elsewhere, local_of, sharding_of, state_of
from autograd_inspector.capture.registry import shape_of, version_of
from autograd_inspector.capture.tape import Tape
from autograd_inspector.capture.torch_private.tensors import sparse_indices, sparse_values
from autograd_inspector.model.placement import Gradient, ParameterRow, StateEntry

_SHOWN_TYPES = (bool, int, float, str, type(None))
_SHORT_TUPLE = 4
_DEEPEST = 3
"""LBFGS keeps lists of tensors, Shampoo dictionaries of lists."""


def rows_of(tape: Tape, optimizer: Optimizer, number: int) -> Iterator[ParameterRow]:
    """One row a parameter of an optimizer (names and models are filled in when the tape freezes).

    State of a parameter that no group holds any more has a row with group -1.

    The state that a ``ZeroRedundancyOptimizer`` keeps on other ranks is told by the rank alone.
    """
    state, ranks = state_of(optimizer), elsewhere(optimizer)
    held: set[int] = set()
    for group_number, group in enumerate(optimizer.param_groups):
        for parameter in group["params"]:
            held.add(id(parameter))
            row = row_of(tape, parameter, number, group_number, state.get(parameter, {}))
            yield replace(row, stepped_by=ranks[id(parameter)]) if id(parameter) in ranks else row
    for parameter, left in state.items():
        if isinstance(parameter, Tensor) and id(parameter) not in held:
            yield row_of(tape, parameter, number, -1, left)


def unwrapped(optimizer: Any) -> Any:
    """The optimizer inside LightningOptimizer, AcceleratedOptimizer and the like, however often it is wrapped."""
    for _ in range(_DEEPEST):
        inner = getattr(optimizer, "optimizer", None)
        if not isinstance(inner, Optimizer):
            break
        optimizer = inner
    return optimizer


def row_of(tape: Tape, parameter: Tensor, optimizer: int, group: int, state: Any) -> ParameterRow:
    """The facts of one parameter, its gradient and its state."""
    grad = parameter.grad if parameter.is_leaf else None
    return ParameterRow(
        *held(tape, parameter),
        tensor=tape.id_of(parameter),
        requires_grad=parameter.requires_grad,
        gradient=None if grad is None else Gradient(*held(tape, grad), version=version_of(grad)),
        optimizer=optimizer,
        group=group,
        state=tuple(_entry(tape, name, value) for name, value in tensors_in("", state)),
    )


def _entry(tape: Tape, name: str, value: Tensor) -> StateEntry:
    """State that no op of the capture ever met gets no number: nothing else tells of it."""
    known = tape.registry.known(value)
    return StateEntry(*held(tape, value), name=name, tensor=-1 if known is None else known.tensor)


def tensors_in(name: str, value: Any, depth: int = 0) -> Iterator[tuple[str, Tensor]]:
    """(name, tensor) of what a state holds: ``exp_avg``, ``old_dirs[2]``, ``preconditioners.0``."""
    if isinstance(value, Tensor):
        yield name, value
    elif depth < _DEEPEST and isinstance(value, dict):
        for key, entry in value.items():
            below = f"{name}.{key}" if name else str(key)
            if isinstance(entry, Tensor):
                yield below, entry  # By far the most: a generator of its own for each would cost more than the rest.
            else:
                yield from tensors_in(below, entry, depth + 1)
    elif depth < _DEEPEST and isinstance(value, (list, tuple)):
        for place, entry in enumerate(value):
            yield from tensors_in(f"{name}[{place}]", entry, depth + 1)


def held(tape: Tape, tensor: Tensor) -> tuple[Any, ...]:
    """The fields of a Held record, in its order."""
    local = local_of(tensor)
    own = tensor if local is None else local
    storage = tape.registry.storage_of(own)
    return (
        tuple(shape_of(tensor)),
        short(tensor.dtype),
        short(own.device),
        bytes_of(tensor),
        storage,
        own.untyped_storage().nbytes() if storage >= 0 else 0,
        None if local is None else sharding_of(tensor, shape_of(local), bytes_of(local)),
    )


def bytes_of(tensor: Tensor) -> int:
    """Bytes of the tensor's own elements: of a sparse one its indices and values; 0 where there is no telling."""
    try:
        if tensor.is_sparse:
            return bytes_of(sparse_values(tensor)()) + bytes_of(sparse_indices(tensor)())
        return tensor.numel() * tensor.element_size()
    except (RuntimeError, NotImplementedError, ValueError):  # ValueError: a lazy parameter before its first forward.
        return 0


def settings_of(group: dict[str, Any]) -> dict[str, str]:
    """The hyper-parameters of a parameter group, as text."""
    return {
        str(name): str(value)
        for name, value in group.items()
        if name != "params"
        and (isinstance(value, _SHOWN_TYPES) or (isinstance(value, tuple) and len(value) <= _SHORT_TUPLE))
    }
