"""Where parameters, gradients and optimizer state live."""

from __future__ import annotations

from msgspec import Struct


class StateEntry(Struct, frozen=True, omit_defaults=True, gc=False):
    """One tensor of an optimizer's state for one parameter (``tensor``: its id, -1 when no op made it)."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    device: str
    nbytes: int
    storage: int = -1
    tensor: int = -1


class Gradient(Struct, frozen=True, omit_defaults=True, gc=False):
    """The ``.grad`` that a parameter had when the placement was read."""

    shape: tuple[int, ...]
    dtype: str
    device: str
    nbytes: int
    version: int
    storage: int = -1


class ParameterRow(Struct, frozen=True, omit_defaults=True):
    """One parameter: ``optimizer`` and ``group`` are -1 when no optimizer holds it, ``model`` "" when no model does."""

    tensor: int
    name: str
    names: tuple[str, ...]
    model: str
    shape: tuple[int, ...]
    dtype: str
    device: str
    nbytes: int
    requires_grad: bool
    storage: int = -1
    reached: bool = False
    gradient: Gradient | None = None
    optimizer: int = -1
    group: int = -1
    state: tuple[StateEntry, ...] = ()


class OptimizerRecord(Struct, frozen=True, omit_defaults=True):
    """An optimizer seen in the capture; ``groups`` are its hyper-parameters, one dict a group, as text.

    ``site`` is where it was made (-1: before the capture), ``created_at`` the op index then.
    """

    id: int
    type: str
    module: str
    groups: tuple[dict[str, str], ...] = ()
    parameters: tuple[tuple[int, ...], ...] = ()
    site: int = -1
    created_at: int = -1
    steps: int = 0


class Placement(Struct, frozen=True, omit_defaults=True):
    """One row a parameter, and the optimizers they belong to."""

    rows: tuple[ParameterRow, ...] = ()
    optimizers: tuple[OptimizerRecord, ...] = ()
