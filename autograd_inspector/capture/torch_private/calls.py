"""Single functions of torch's that calls go through, and functions that are told by their names in a stack."""

from __future__ import annotations

from typing import Any

from autograd_inspector.capture.torch_private.resolving import Place, attribute, private, spelled
from autograd_inspector.model import torch_names

SWAP = Place(
    "torch._C:_swap_tensor_impl",
    "where two tensors exchange what they hold",
    without="tensors that torch.utils.swap_tensors exchanged are taken for one another",
)


def _questions() -> tuple[Any, ...]:
    use = "a call that makes no tensor is no op"
    found = (
        private("torch:_has_compatible_shallow_copy_type", use, instead=None),
        private("torch._C:_nn._parse_to", use, instead=None),
    )
    return tuple(question for question in found if question is not None)


QUESTIONS = _questions()
"""Calls that neither make nor change a tensor."""


def _has_no_memory(tensor: Any) -> bool:
    try:
        tensor.untyped_storage()
    except (RuntimeError, NotImplementedError):
        return True
    return False


is_functorch_wrapped = private(
    "torch._C:_functorch.is_functorch_wrapped_tensor",
    "inside vmap there is no value to read",
    instead=_has_no_memory,
)

_PICKLED = "tensors that are pickled and come back are not followed"
REDUCER = spelled("torch:Tensor._reduce_ex_internal", "a tensor is being pickled", without=_PICKLED)
REBUILDER = spelled("torch._utils:_rebuild_tensor_v2", "a tensor is being unpickled", without=_PICKLED)
SENDER = spelled(
    "torch.multiprocessing.reductions:reduce_tensor",
    "torch refused to send a tensor to another process",
    without="a tensor that torch refused to send to another process is not named",
    late=True,
)
COMPILED_BACKWARD = spelled(
    "torch:_functorch._aot_autograd",
    "the backward of a compiled region runs",
    without="the backward of compiled code is recorded op by op",
)

_CHECKPOINT = "torch.utils.checkpoint:"
spelled(
    _CHECKPOINT + torch_names.EARLY_STOP,
    "how checkpoint() ends a recomputation",
    without="the end of a recomputation by checkpoint() is taken for an error",
    late=True,
)
spelled(
    "torch.nn.modules._functions:" + torch_names.MODULE_HOOK,
    "the Function that calls the backward hooks of a module",
    without="what a module's backward hook did is said of an op",
)
spelled(
    _CHECKPOINT + torch_names.SAVES_INPUTS, "the Function by which checkpoint() saves its inputs, if it does", late=True
)

COMPILED_CALL = spelled(
    "torch._dynamo.eval_frame:_TorchDynamoContext.__call__.compile_wrapper",
    "torch's function around every compiled call",
    without="what torch.compile compiled is not told from the rest",
    late=True,
)
COMPILER = Place(
    "torch._dynamo.eval_frame:_maybe_set_eval_frame",
    "where compiled code begins and ends",
    without="what torch.compile compiled is not told from the rest",
    late=True,
)
COMPILED_MODULE = Place(
    "torch._dynamo.eval_frame:OptimizedModule.__call__",
    "where a compiled module is called",
    without="what torch.compile compiled is not told from the rest",
    late=True,
)
original_of = attribute(
    "torch._dynamo.eval_frame:OptimizedModule._orig_mod", "the name of a compiled module", late=True
)
