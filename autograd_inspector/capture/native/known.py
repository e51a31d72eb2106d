"""What the functions in C are given of torch's and of this package's: they import nothing, and know no private name."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction
from torch.nn import Parameter

from autograd_inspector.capture.graph_walk import saved_tensors, verdicts, walk
from autograd_inspector.capture.lines import stacks
from autograd_inspector.capture.observers.calls import arguments, effects, ops, special
from autograd_inspector.capture.recording import registry
from autograd_inspector.capture.tensors import attributes
from autograd_inspector.capture.torch_private import calls, graph, modes, tensors
from autograd_inspector.capture.vitals.functions import MEASURED
from autograd_inspector.model.autograd import LEAF_SEQUENCE, Node, SavedTensor

WALKED, ADDED = stacks.Stacks.at, registry.Registry.add
REPLACED: tuple[tuple[type, str, Any], ...] = (
    (stacks.Stacks, "at", WALKED),
    (registry.Registry, "add", ADDED),
    (registry.Registry, "enter", registry.Registry.enter),
    (walk.Walk, "usual", walk.Walk.usual),
)
"""(class, method, the method in Python) of what a method in C stands for; None: the one around it does the same."""
HANDLED = ops.Recorder.__torch_function__


def _descriptor(bound: Any) -> Any:
    """Of a getter, the attribute of torch's that it reads."""
    return getattr(bound, "__self__", None)


def known() -> dict[str, Any]:
    """By the names that the C file has for them. AttributeError where this torch has something else."""
    read: Any = inspect.getattr_static
    slots = vars(registry.Entry)
    return {
        "kind_of_file": stacks.kind_of_file,
        "walked": WALKED,
        "added": ADDED,
        "handled": HANDLED,
        "entry_type": registry.Entry,
        "node_type": Node,
        "saved_type": SavedTensor,
        "function_type": BackwardCFunction,
        "tensor_type": Tensor,
        "parameter_type": Parameter,
        "storage_address": tensors.storage_address,
        "untyped_storage": Tensor.untyped_storage,
        "weak_ref": tensors.weak_ref,
        "is_inference": Tensor.is_inference,
        "is_leaf": attributes.is_leaf,
        "storage_offset": Tensor.storage_offset,
        "stride": Tensor.stride,
        "mode_depth": modes.mode_depth,
        "is_tracing": modes.is_tracing,
        "grad_enabled": torch.is_grad_enabled,
        "inference_mode": torch.is_inference_mode_enabled,
        "sequence_number": graph.sequence_number,
        "any_autocast": modes.any_autocast,
        "under_transform": calls.under_transform,
        "is_contiguous": Tensor.is_contiguous,
        "place_of": saved_tensors.place_of,
        "unpacked": graph.UNPACKED,
        "statistics": verdicts.STATISTICS,
        "leaf_sequence": LEAF_SEQUENCE,
        "version_of": attributes.version_of,
        "writes_of": effects.writes_of,
        "keeps_gradient": effects.keeps_gradient,
        "apart": effects.apart,
        "gather": arguments.gather,
        "needs_grad": attributes.needs_grad,
        "note_numbers": arguments.note_numbers,
        "cpu": registry.CPU,
        "plain": arguments.PLAIN_KINDS,
        "functions": special.IN_C.kinds,
        "measured": frozenset(MEASURED),
        "scaling": ops.SCALES,
        "cut": ops.CUT,
        "passed": special.PASS - {modes.set_grad_enabled},
        "autocast": ops.AUTOCAST,
        "get_version": _descriptor(tensors.version_counter),
        "get_symbolic": _descriptor(tensors.is_symbolic),
        **{f"get_{name}": read(Tensor, name) for name in ("requires_grad", "shape", "dtype", "is_cpu", "device")},
        **{f"slot_{name}": slots[name] for name in ("tensor", "storage", "requires_grad", "untracked")},
    }
