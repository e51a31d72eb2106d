"""Parameters with their gradients and optimizer state, and the optimizers: where each tensor lives."""

from __future__ import annotations

import re

from msgspec import Struct

from autograd_inspector.model.settings import Settings

HERE = -2
"""``ParameterRow.stepped_by`` of a parameter that this rank steps (-1: another rank does, which is not said)."""


class Sharding(Struct, frozen=True, omit_defaults=True, gc=False):
    """How a DTensor is spread: one placement ("Shard(dim=0)") a mesh dimension, and the part that this rank holds."""

    placements: tuple[str, ...]
    mesh: tuple[int, ...]
    local_shape: tuple[int, ...]
    local_nbytes: int
    mesh_names: tuple[str, ...] = ()


class Held(Struct, frozen=True, omit_defaults=True, gc=False):
    """A tensor that takes memory.

    ``nbytes`` are its own elements' bytes (of a DTensor all ranks' together); ``storage`` numbers the memory behind it
    (-1: sparse, or none) and ``allocated`` is that memory's size in bytes on this rank, which others may share.
    """

    shape: tuple[int, ...]
    dtype: str
    device: str
    nbytes: int
    storage: int = -1
    allocated: int = 0
    sharding: Sharding | None = None


class StateEntry(Held, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """One tensor of an optimizer's state for one parameter (``tensor``: its id, -1 when no op made it).

    ``name`` is what the program writes behind ``state[p]``: ``exp_avg``, ``factors["left"][0]``, ``cache.matrix``.
    ``holder`` is the class of the object that has it as an attribute, "" of what only dictionaries and lists hold.
    ``written`` is how often each step wrote it in place: its version counter, divided by the steps until then.
    """

    name: str
    tensor: int = -1
    holder: str = ""
    written: int = 0

    @property
    def key(self) -> str:
        """The innermost key or attribute on the way to it."""
        return innermost(self.name)


_PART = re.compile(r"""\["([^"]*)"\]|\['([^']*)'\]|(?:^|\.)([^.\["']+)""")


def innermost(name: str) -> str:
    """``left`` of ``factors["left"][0]``."""
    parts = _PART.findall(name)
    return "".join(parts[-1]) if parts else name


class Gradient(Held, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """The ``.grad`` that a parameter had when the placement was read, and its version counter."""

    version: int


class ParameterRow(Held, frozen=True, omit_defaults=True, kw_only=True):
    """One parameter: ``optimizer`` and ``group`` are -1 when no optimizer holds it, ``model`` "" when no model does.

    ``group`` alone is -1 of a parameter whose state the optimizer keeps although no group holds it.

    ``name`` is what findings call it (``net.0.weight``). ``names`` are its names in the model's state_dict, after
    the name of the model where the program has several.
    """

    tensor: int
    name: str = ""
    names: tuple[str, ...] = ()
    model: str = ""
    requires_grad: bool
    reached: bool = False
    bare: bool = False
    """No model ever had it, and the program still trains it: a latent code, a temperature, a point cloud."""
    gradient: Gradient | None = None
    optimizer: int = -1
    group: int = -1
    state: tuple[StateEntry, ...] = ()
    stepped_by: int = HERE
    """The rank that steps the parameter and keeps its state, where an optimizer deals whole parameters out to ranks."""


class OptimizerRecord(Struct, frozen=True, omit_defaults=True):
    """An optimizer seen in the capture; ``groups`` are its hyper-parameters, one dict a group, as values.

    ``site`` is where it was made (-1: before the capture), ``created_at`` the op index then.
    """

    id: int
    type: str
    module: str
    groups: tuple[Settings, ...] = ()
    parameters: tuple[tuple[int, ...], ...] = ()
    site: int = -1
    created_at: int = -1
    steps: int = 0

    @property
    def held(self) -> tuple[int, ...]:
        """The parameters of all groups, in their order; one that stands in two groups stands here twice."""
        return tuple(tensor for group in self.parameters for tensor in group)
