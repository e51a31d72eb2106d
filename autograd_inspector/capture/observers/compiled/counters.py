"""Version counters of tensors without data: the kernels of some ops move them, and without data no kernel runs."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from torch.autograd.graph import increment_version

from autograd_inspector.capture.compiled.plan import CALL, Plan
from autograd_inspector.capture.observers.calls.arguments import gather
from autograd_inspector.capture.torch_private.modes import DispatchMode, moves_no_counter, written_arguments

_FOREACH = "_foreach_"


def counting(plan: Plan) -> AbstractContextManager[Any]:
    """A context in which all ops of a plan move version counters as they do with data."""
    steps = (step for step in plan.steps if step.kind == CALL)
    if any(str(getattr(step.target, "__name__", "")).startswith(_FOREACH) for step in steps):
        return _Counting()
    return nullcontext()


class _Counting(DispatchMode):  # type: ignore[misc]
    """Moves the counters of what ``torch._foreach_add_()`` and its like write."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        name, writes = written_arguments(func)
        if _FOREACH in name and any(writes) and moves_no_counter(func.name()):
            written: list[Any] = []
            gather([each for each, is_written in zip(args, writes, strict=False) if is_written], written)
            for tensor in written:
                increment_version(tensor)
        return result
