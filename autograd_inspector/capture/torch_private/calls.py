"""Single functions of torch's that calls go through."""

from __future__ import annotations

from typing import Any

from autograd_inspector.capture.torch_private.resolving import Place, find, private
from autograd_inspector.capture.torch_private.tensors import storage_address

OpOverload = private("torch._ops:OpOverload", "compiled graphs call the overloads of dispatched ops", instead=())
data_of = private("torch._C:_autograd._get_data_attr", "what is .data in compiled graphs", instead=None)
SWAP = Place(
    "torch._C:_swap_tensor_impl",
    "where two tensors exchange what they hold",
    without="tensors that torch.utils.swap_tensors exchanged are taken for one another",
)

FUNCTION_GRADIENT = Place(
    "torch._functorch.eager_transforms:_autograd_grad",
    "where torch.func.grad and vjp differentiate what a function returned",
    without="functions that do not depend on what torch.func.grad differentiates them by are not told",
    late=True,
)


def differentiate() -> Any:
    """That function; None where there is none."""
    owner = FUNCTION_GRADIENT.owner()
    return None if owner is None else vars(owner)[FUNCTION_GRADIENT.name]


def _questions() -> tuple[Any, ...]:
    use = "a call that makes no tensor is not an op"
    questions = (
        private("torch:_has_compatible_shallow_copy_type", use, instead=None),
        private("torch._C:_nn._parse_to", use, instead=None),
        private("torch:Tensor._is_zerotensor", use, instead=None),
        find("torch:Tensor._is_view"),
    )
    return tuple(filter(callable, questions))


QUESTIONS = _questions()
"""Calls that neither make nor change a tensor. One that is not there is not called."""


def _has_no_memory(tensor: Any) -> bool:
    try:
        storage_address(tensor)
    except (RuntimeError, NotImplementedError):
        return True
    return False


is_functorch_wrapped = private(
    "torch._C:_functorch.is_functorch_wrapped_tensor",
    "inside vmap there is no value to read",
    instead=_has_no_memory,
)
