"""Where the parameters of an optimizer, their gradients and their state live: metadata only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from autograd_inspector.capture.graph_walk import short
from autograd_inspector.capture.registry import shape_of, version_of
from autograd_inspector.capture.tape import Tape
from autograd_inspector.model.placement import Gradient, ParameterRow, StateEntry

_SHOWN_TYPES = (bool, int, float, str, type(None))
_SHORT_TUPLE = 4


def rows_of(tape: Tape, optimizer: Optimizer, number: int) -> Iterator[ParameterRow]:
    """One row a parameter of an optimizer (names and models are filled in when the tape freezes)."""
    for group_number, group in enumerate(optimizer.param_groups):
        for parameter in group["params"]:
            yield row_of(tape, parameter, number, group_number, optimizer.state.get(parameter, {}))


def row_of(tape: Tape, parameter: Tensor, optimizer: int, group: int, state: Any) -> ParameterRow:
    """The facts of one parameter, its gradient and its state: metadata only."""
    grad = parameter.grad if parameter.is_leaf else None
    gradient = None
    if grad is not None:
        gradient = Gradient(
            tuple(shape_of(grad)),
            short(grad.dtype),
            short(grad.device),
            bytes_of(grad),
            version_of(grad),
            tape.registry.storage_of(grad),
        )
    entries = [
        StateEntry(
            str(name),
            tuple(shape_of(value)),
            short(value.dtype),
            short(value.device),
            bytes_of(value),
            tape.registry.storage_of(value),
            tape.id_of(value),
        )
        for name, value in state.items()
        if isinstance(value, Tensor)
    ]
    return ParameterRow(
        tape.id_of(parameter),
        "",
        (),
        "",
        tuple(shape_of(parameter)),
        short(parameter.dtype),
        short(parameter.device),
        bytes_of(parameter),
        parameter.requires_grad,
        tape.registry.storage_of(parameter),
        gradient=gradient,
        optimizer=optimizer,
        group=group,
        state=tuple(entries),
    )


def bytes_of(tensor: Tensor) -> int:
    """Bytes of the tensor's own elements; 0 where it has no dense layout."""
    try:
        return tensor.numel() * tensor.element_size()
    except (RuntimeError, NotImplementedError):
        return 0


def settings_of(group: dict[str, Any]) -> dict[str, str]:
    """The hyper-parameters of a parameter group, as text."""
    return {
        str(name): str(value)
        for name, value in group.items()
        if name != "params"
        and (isinstance(value, _SHOWN_TYPES) or (isinstance(value, tuple) and len(value) <= _SHORT_TUPLE))
    }
