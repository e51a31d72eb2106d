"""Code that Dynamo leaves to Python."""

from __future__ import annotations

from types import CodeType
from typing import Any

from autograd_inspector.capture.torch_private.resolving import MISSING, attribute, looked_up

_OPAQUE = "module.compile() of a module that is made of torch's own alone is one op"
_skips = looked_up("torch._dynamo.trace_rules:check", "which code Dynamo leaves to Python", without=_OPAQUE)
_hooked_everywhere = looked_up("torch.nn.modules.module:_has_any_global_hook", "hooks of all modules", without=_OPAQUE)
_hooks = [
    attribute(f"torch.nn:Module.{name}", "whether a module has hooks", instead=lambda _: True, without=_OPAQUE)
    for name in ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
]


def passes_over(code: CodeType) -> bool:
    """Whether Dynamo leaves a function to Python, wherever that is called."""
    skips = _skips()
    return skips is not MISSING and bool(skips(code))


def may_have_hooks(module: Any) -> bool:
    """Whether calls of a module call more than its forward."""
    everywhere = _hooked_everywhere()
    return everywhere is MISSING or everywhere() or any(hooks(module) for hooks in _hooks)
