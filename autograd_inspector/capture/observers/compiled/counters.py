"""Version counters of tensors without data: the kernels of some ops move them, and without data no kernel runs."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from torch.autograd.graph import increment_version
from torch.utils._python_dispatch import TorchDispatchMode

from autograd_inspector.capture.compiled.plan import CALL, Plan
from autograd_inspector.capture.observers.calls.ops import gather
from autograd_inspector.capture.torch_private.modes import moves_no_counter

_FOREACH = "_foreach_"


def counting(plan: Plan) -> AbstractContextManager[Any]:
    """A context in which all ops of a plan move version counters as they do with data."""
    steps = (step for step in plan.steps if step.kind == CALL)
    if any(str(getattr(step.target, "__name__", "")).startswith(_FOREACH) for step in steps):
        return _Counting()  # type: ignore[no-untyped-call]
    return nullcontext()


class _Counting(TorchDispatchMode):
    """Moves the counters of what ``torch._foreach_add_()`` and its like write."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        schema = func._schema
        if schema.is_mutable and _FOREACH in schema.name and moves_no_counter(func.name()):
            for each, declared in zip(args, schema.arguments, strict=False):
                written: list[Any] = []
                if declared.is_write:
                    gather((each,), written)
                for tensor in written:
                    increment_version(tensor)
        return result
