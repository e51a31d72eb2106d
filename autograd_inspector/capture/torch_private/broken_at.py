"""What Dynamo holds where it cannot follow the code any further: the tensor that is about to leave it."""

from __future__ import annotations

from typing import Any, NamedTuple

from autograd_inspector.capture.torch_private.resolving import MISSING, attribute, looked_up

_UNKNOWN = "at a graph break, the inspector finds the tensor that leaves compiled code by its place in the graph"
_method = looked_up("torch._dynamo.variables.misc:GetAttrVariable", "a method about to be called", without=_UNKNOWN)
_tensor = looked_up("torch._dynamo.variables.tensor:TensorVariable", "a tensor that Dynamo follows", without=_UNKNOWN)
_lazy = looked_up("torch._dynamo.variables.lazy:LazyVariableTracker", "values that Dynamo reads late", without=_UNKNOWN)
_stack = attribute(
    "torch._dynamo.symbolic_convert:InstructionTranslatorBase.__init__.stack",
    "what the code holds where a graph breaks",
    without=_UNKNOWN,
    late=True,
)


class Broken(NamedTuple):
    """A tensor.

    ``method``: the one of it that is called, "" where a function is. ``source``: torch's record of where the code has
    it from, None where it was computed. ``node``: its node in the graph.
    """

    method: str
    source: Any
    node: Any


def broken_at(translator: Any, methods: frozenset[str]) -> Broken | None:
    """The tensor whose method of those names is about to be called, or which is the last argument of a call."""
    method, tensor = _method(), _tensor()
    if MISSING in (method, tensor):
        return None
    held = [known(each) for each in _stack(translator) or ()]
    for each in reversed(held):
        if isinstance(each, method) and each.name in methods and isinstance(known(each.obj), tensor):
            return _of(each.name, known(each.obj))
    return _of("", held[-1]) if held and isinstance(held[-1], tensor) else None


def known(variable: Any) -> Any:
    """What Dynamo knows a value as. One that it has not looked at stays so: looking would make a guard."""
    lazy = _lazy()
    return variable.unwrap() if lazy is not MISSING and isinstance(variable, lazy) else variable


def _of(method: str, tensor: Any) -> Broken:
    return Broken(method, tensor.source, getattr(tensor.proxy, "node", None))
