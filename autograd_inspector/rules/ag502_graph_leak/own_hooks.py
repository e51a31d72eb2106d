"""AG502: results that stay alive because their own hooks hold them."""

from __future__ import annotations

from collections.abc import Mapping

from autograd_inspector.advice.names import short_name
from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.event import RetainedGraph, TensorHook
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op

_FEWEST = 2


def own_hook(analysis: Analysis, members: list[RetainedGraph]) -> TensorHook | None:
    """The hook that makes a cycle of the last result that is alive, on it or on what it is computed from.

    The result before it has such a hook as well: one alone may be that of the running step.
    """
    hooks = {hook.tensor: hook for hook in analysis.capture.tensor_hooks if hook.cycle}
    latest = sorted((kept.tensor for kept in members), reverse=True)[:_FEWEST] if len(hooks) >= _FEWEST else []
    found = [_on_the_way(analysis, tensor, hooks) for tensor in latest]
    return found[0] if len({hook.tensor for hook in found if hook is not None}) == _FEWEST else None


def _on_the_way(analysis: Analysis, tensor: int, hooks: Mapping[int, TensorHook]) -> TensorHook | None:
    if tensor in hooks:
        return hooks[tensor]
    above = analysis.flow.upstream([(tensor, len(analysis.capture.ops))], lambda _o, _t: True)
    return next((hooks[made] for op, _ in above for made in op.outputs if made in hooks), None)


def held_by_hook(analysis: Analysis, hook: TensorHook, made: Op, name: str, steps: str, detach: str) -> Problem:
    """What to say of them."""
    called = short_name(hook.name)
    return Problem(
        "warning",
        f"{name} of {steps}, each with its graph, is alive at the same time: the hook {called} on "
        f"{name_of(analysis, hook.tensor)} holds that tensor, or one computed from it, a cycle through the graph that Python "
        "does not collect",
        f"Let the hook use a copy that is detached before register_hook(): {detach}. Or keep the handle that "
        "register_hook() returns, and call its `remove()` after backward().",
        analysis.places((hook.site, "hook registered here"), (made, "computed here")),
        (name, called),
        ops=(made.index,),
    )
