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
    without="tensors that torch.utils.swap_tensors exchanged are mixed up",
)

FUNCTION_GRADIENT = Place(
    "torch._functorch.eager_transforms:_autograd_grad",
    "where torch.func.grad and vjp differentiate what a function returned",
    without="functions that do not depend on their differentiated arguments are not reported",
    late=True,
)


def differentiate() -> Any:
    """That function; None where there is none."""
    owner = FUNCTION_GRADIENT.owner()
    return None if owner is None else vars(owner)[FUNCTION_GRADIENT.name]


def _questions() -> tuple[Any, ...]:
    use = "a call that makes no tensor is not an op"
    questions = (
        private(
            "torch:_has_compatible_shallow_copy_type",
            use,
            instead=None,
            without="converting a model counts as reading its parameters",
        ),
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
unwrapped_once = private(
    "torch._C:_functorch.get_unwrapped",
    "whether what a transform of torch.func works on has a history beneath",
    instead=lambda tensor: tensor,
    without="values inside torch.vmap and torch.func are treated as constants",
)
"""What a functorch wrapper stands for; the wrapper itself where torch does not tell."""

_BORDERS = "values are not followed through torch.vmap and torch.func"


def _border(name: str, use: str, *, module: str = "predispatch") -> Place:
    return Place(f"torch._functorch.{module}:{name}", use, without=_BORDERS, late=True)


TRANSFORM_BORDERS = {
    "vmap": (
        _border("_add_batch_dim", "what vmap works on in the place of its arguments"),
        _border("_remove_batch_dim", "what vmap returns"),
    ),
    # Where it is called: before torch 2.13 it is a function in C.
    "torch.func": (
        _border("_unwrap_for_grad", "what torch.func.grad and similar transforms return", module="eager_transforms"),
    ),
}
"""By which transform -> where tensors are wrapped for it, and unwrapped."""


def transform_borders() -> dict[Any, str]:
    """Those functions of torch's -> by which transform they wrap or unwrap their first argument."""
    owners = [(name, place, place.owner()) for name, places in TRANSFORM_BORDERS.items() for place in places]
    return {vars(owner)[place.name]: name for name, place, owner in owners if owner is not None}


_interpreters = private(
    "torch._C:_functorch.peek_interpreter_stack", "whether a transform of torch.func runs", instead=lambda: True
)


def under_transform() -> bool:
    """Whether vmap or another transform of torch.func runs."""
    return _interpreters() is not None
