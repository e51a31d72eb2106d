"""What compiled code does to the program's objects when its graph has run."""

from __future__ import annotations

from types import CodeType
from typing import Any, NamedTuple

from autograd_inspector.capture.torch_private.broken_at import known
from autograd_inspector.capture.torch_private.resolving import attribute

_UNSEEN = "hooks that compiled code registers on what it is given are not seen"
_effects = attribute(
    "torch._dynamo.output_graph:OutputGraph.__init__.side_effects",
    "the hooks that compiled code registers",
    without=_UNSEEN,
    late=True,
)
_hooks = attribute(
    "torch._dynamo.side_effects:SideEffects.__init__.tensor_hooks",
    "the hooks that compiled code registers",
    instead=lambda _: {},
    without=_UNSEEN,
    late=True,
)


class Registered(NamedTuple):
    """A hook. ``source``: torch's record of where the code has the tensor from. ``method``: what registers it."""

    source: Any
    code: CodeType
    method: str


def registered_by(output: Any) -> list[Registered]:
    """The hooks on tensors that the code has from outside, as far as they are functions in Python."""
    found = []
    for tensor, hook, _, method in dict(_hooks(_effects(output))).values():
        get_code = getattr(known(hook), "get_code", None)
        code = get_code() if get_code is not None else None
        if isinstance(code, CodeType) and tensor.source is not None:
            found.append(Registered(tensor.source, code, method))
    return found
