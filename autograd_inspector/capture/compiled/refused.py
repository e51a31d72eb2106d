"""Graphs that were not compiled because torch refused what is in them: Dynamo's trial run of an op, or the backend's.

Such a graph is known up to the op that was refused, or whole. It is kept for no longer than the call that raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from torch.fx import GraphModule

from autograd_inspector.capture.compiled.module_sources import Scope
from autograd_inspector.capture.compiled.plan import CALL, METHOD, MODULE, Plan, plan_of


class Refused(NamedTuple):
    """``error`` is what the compiled call raises of it; ``args`` and ``scope`` what the graph would have been given."""

    error: BaseException
    plan: Plan
    args: tuple[Any, ...]
    scope: Scope

    @property
    def op(self) -> int:
        """The step that was refused; -1 where the graph is whole, and all of it was."""
        steps = self.plan.steps
        return len(steps) - 1 if steps and steps[-1].kind in {CALL, METHOD, MODULE} else -1


Refusing = Callable[[Refused], None]


def refused(output: Any, error: BaseException, plan: Plan | None = None) -> Refused:
    """What Dynamo knows of a graph when its compilation fails: of one that has no plan, it was still being captured."""
    if plan is None:
        traced = output.tracing_context.traced_code or ()
        plan = plan_of(GraphModule(output.nn_modules, output.graph), output.root_tx.f_code, traced)
    args = [node.meta["grapharg"].example for node in output.graph.nodes if node.op == "placeholder"]
    return Refused(error, plan, tuple(args), Scope(output.local_scope, output.global_scope))
