"""What ranks share: parts of DTensors, optimizers that are spread, and the stores of process groups."""

from __future__ import annotations

import sys
from typing import Any

from torch import Tensor

from autograd_inspector.capture.torch_private.resolving import MISSING, Place, attribute, looked_up

local_tensor = attribute(
    "torch.distributed.tensor:DTensor._local_tensor",
    "the part of a DTensor that this rank holds: to_local() would record a node and wait for communication",
    without="the part of a DTensor that a rank holds is not known",
    late=True,
)

ZERO = "torch.distributed.optim.zero_redundancy_optimizer"
ranks_of = attribute(
    f"{ZERO}:ZeroRedundancyOptimizer._param_to_rank",
    "the rank that steps a parameter",
    instead=lambda _: {},
    without="the rank that steps a parameter of a ZeroRedundancyOptimizer is not known",
    late=True,
)

_groups = looked_up(
    "torch.distributed.distributed_c10d:_world.pg_map",
    "the store through which reports of ranks are gathered, for which torch has no public name",
)


def store_of(group: Any) -> Any:
    """The store behind a process group, None where it has none (MPI) or torch does not tell."""
    groups = _groups()
    if groups is not MISSING:
        return groups[group][1]
    try:
        return group.get_group_store()
    except (AttributeError, RuntimeError):
        return None


def local_of(tensor: Tensor) -> Tensor | None:
    """The part of a DTensor that this rank holds, None for any other tensor. Nothing is gathered.

    ``to_local()`` would record a node and wait for pending communication, so the attribute behind it is read.
    """
    module = sys.modules.get("torch.distributed.tensor")
    if module is None or not issubclass(type(tensor), module.DTensor):
        return None
    local: Tensor | None = local_tensor(tensor)
    return local


_reduced = attribute(
    "torch.nn.parallel.distributed:DistributedDataParallel.__init__._module_parameters",
    "the parameters whose gradients a wrapper reduces, in the order in which its errors number them",
    instead=lambda _: (),
    without="which gradients DistributedDataParallel reduces is not known",
    late=True,
)


def reduced_parameters(wrapper: Any) -> tuple[Tensor, ...]:
    """The parameters whose gradients a DistributedDataParallel reduces."""
    return tuple(_reduced(wrapper))


_join_config = attribute(
    "torch.distributed.algorithms.join:Joinable.__init__._join_config",
    "whether ranks may have uneven work",
    without="whether the ranks of a join() block differ in their work is not known",
    late=True,
)


def joins(wrapper: Any) -> bool:
    """Whether a DistributedDataParallel runs in a ``join()`` block."""
    return bool(getattr(_join_config(wrapper), "enable", False))


_comm_hooks = attribute(
    "torch.nn.parallel.distributed:DistributedDataParallel.__init__._comm_hooks",
    "the hooks that reduce in a wrapper's place",
    instead=lambda _: (),
    without="whether DistributedDataParallel reduces by a communication hook is not known",
    late=True,
)


def hooked(wrapper: Any) -> bool:
    """Whether a DistributedDataParallel reduces by a hook of the program's."""
    return bool(_comm_hooks(wrapper))


_FLAT = "torch.distributed.fsdp._flat_param"
_handle = attribute(
    "torch.distributed.fsdp._common_utils:_FSDPState.__init__._handle",
    "the handle of the flat parameter of a FullyShardedDataParallel",
    without="which parameters FullyShardedDataParallel shards is not known",
    late=True,
)
_flat_param = attribute(
    f"{_FLAT}:FlatParamHandle._init_flat_param_and_metadata.flat_param",
    "the flat parameter that stands for those of a wrapped module, under no name of it",
    without="which parameters FullyShardedDataParallel shards is not known",
    late=True,
)
_flattened = attribute(
    f"{_FLAT}:FlatParamHandle._reset_is_grad_none._params",
    "the parameters that became views of a flat one",
    instead=lambda _: (),
    without="which parameters FullyShardedDataParallel shards is not known",
    late=True,
)


def flattened(wrapper: Any) -> tuple[Tensor, ...]:
    """The flat parameter that one FullyShardedDataParallel manages, then those that the program has in its place."""
    handle = _handle(wrapper)
    flat = None if handle is None else _flat_param(handle)
    return () if flat is None else (flat, *(_flattened(flat) or ()))


_reduces = attribute(
    "torch.distributed.fsdp._init_utils:_init_runtime_state._sync_gradients",
    "whether the next backward of a FullyShardedDataParallel reduces",
    instead=lambda _: True,
    without="no_sync() of FullyShardedDataParallel is not known",
    late=True,
)


def reduces(wrapper: Any) -> bool:
    """Whether the next backward of a FullyShardedDataParallel reduces: not in its ``no_sync()``."""
    return bool(_reduces(wrapper))


FUNCTIONAL = tuple(
    Place(
        f"torch.distributed._functional_collectives:{name}",
        "collectives that return what they computed, by which parallel layers exchange activations",
        without="",
        late=True,
    )
    for name in ("all_reduce", "all_gather_tensor", "reduce_scatter_tensor", "broadcast", "all_to_all_single")
)


pending_of = attribute(
    "torch.distributed._functional_collectives:AsyncCollectiveTensor.elem",
    "the memory that a functional collective is still writing to: to use the tensor itself would wait for it",
    without="whether results of functional collectives are used is not known",
    late=True,
)
