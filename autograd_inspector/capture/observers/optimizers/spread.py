"""What a rank holds of what ranks share: parts of DTensors, and its share of a ZeroRedundancyOptimizer."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from types import FrameType
from typing import Any

from torch.optim import Optimizer

from autograd_inspector.capture.lines.attributes import order_of, plain
from autograd_inspector.capture.observers.optimizers.groups import parameters_of
from autograd_inspector.capture.torch_private.distributed import ZERO, ranks_of
from autograd_inspector.interrupts import is_interrupt
from autograd_inspector.model.placement_rows import Sharding


def rank_here(before: tuple[int, int] = (-1, 0)) -> tuple[int, int]:
    """(rank of this process, how many there are) in the default process group; ``before`` where there is none."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return before
    return distributed.get_rank(), distributed.get_world_size()


def sharding_of(tensor: Any, shape: Iterable[int], nbytes: int) -> Sharding:
    """How a DTensor is spread over its mesh; ``shape`` and ``nbytes`` are those of this rank's part."""
    mesh = tensor.device_mesh
    return Sharding(
        tuple(map(repr, tensor.placements)),
        tuple(mesh.shape),
        tuple(shape),
        nbytes,
        tuple(mesh.mesh_dim_names or ()),
    )


def inner_of(optimizer: Optimizer) -> Optimizer | None:
    """The optimizer that steps this rank's share for a ZeroRedundancyOptimizer, and has its state."""
    if not _is_zero(optimizer):
        return None
    inner = getattr(optimizer, "optim", None)
    return inner if isinstance(inner, Optimizer) else None


def _is_zero(optimizer: Optimizer) -> bool:
    """Whether it is a ZeroRedundancyOptimizer: ``isinstance`` of an abstract class would hash the other one."""
    module = sys.modules.get(ZERO)
    return module is not None and any(each is module.ZeroRedundancyOptimizer for each in order_of(type(optimizer)))


def is_share(optimizer: Optimizer) -> bool:
    """Whether a ZeroRedundancyOptimizer is just making this one, for this rank's share."""
    if ZERO not in sys.modules or _is_zero(optimizer):
        return False
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") == ZERO:
            return True
        frame = frame.f_back
    return False


def state_of(optimizer: Optimizer) -> Mapping[Any, Any]:
    """Parameter -> state, where the optimizer really keeps it; empty where it has none, or will not tell.

    An attribute of that name may be a property: wrappers hand out the state of what they wrap.
    """
    try:
        state: Any = (inner_of(optimizer) or optimizer).state
    except Exception as failure:
        if is_interrupt(failure):
            raise
        return {}
    if issubclass(type(state), dict):
        return plain(state)
    return state if issubclass(type(state), Mapping) else {}


def elsewhere(optimizer: Optimizer) -> dict[int, int]:
    """Python's id of a parameter -> the rank that steps it and has its state, of those that this rank does not step.

    A rank is one of the default process group, -1 where the optimizer does not say which.
    """
    inner = inner_of(optimizer)
    if inner is None:
        return {}
    inner_ids = {id(p) for p in parameters_of(inner)}
    stepped_elsewhere = [p for p in parameters_of(optimizer) if id(p) not in inner_ids]
    ranks: dict[int, int] = {}
    try:
        zero: Any = optimizer
        global_rank = sys.modules["torch.distributed"].get_global_rank
        ranks = {id(p): global_rank(zero.process_group, rank) for p, rank in ranks_of(zero).items()}
    except Exception as failure:  # Private, and not ready before overlap_with_ddp has rebuilt its buckets.
        if is_interrupt(failure):
            raise
    return {id(p): ranks.get(id(p), -1) for p in stepped_elsewhere}
