"""Gradients that the program asked for where there can be none: what was asked is no part of any graph."""

from __future__ import annotations

from autograd_inspector.analysis.ops_of import raising
from autograd_inspector.model.autograd import Backward, GraphHead
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.torch_errors import TorchError, says

_ENGINE = "torch.autograd"
"""Who switches grad mode off where the engine calls the program."""


def asked_in_vain(capture: Capture) -> tuple[Backward, ...]:
    """The runs that could not begin, and the refusals to keep a gradient or to call a hook, each as such a run.

    The run around one that a custom backward or a hook began raises the same exception; it had a graph.
    """
    runs = [run for run in capture.backwards if says(run.error, TorchError.NO_GRAPH) and _rootless(capture, run)]
    refused = [op for op in raising(capture) if refuses_a_gradient(op) and ends(capture, op)]
    return (*runs, *(_as_run(op) for op in refused))


def refuses_a_gradient(op: Op) -> bool:
    """Whether torch would not keep a gradient, or call a hook with one, of what does not require grad."""
    return says(op.error, TorchError.GRADIENT_NOT_KEPT, TorchError.HOOK_REFUSED) is not None


def ends(capture: Capture, op: Op) -> bool:
    """Whether the program ended because of it; others are caught."""
    return op.error.partition("\n")[0][:200] in capture.error


def made_in_engine(capture: Capture, run: Backward) -> Op | None:
    """The op that computed what a run was to begin from, in a custom backward or a hook: autograd records nothing there.

    Unless the run around it was asked to (``create_graph=True``), or the program switches grad mode on again.
    """
    if run.nested_in < 0:
        return None
    births = (capture.tensors[root].birth for root in run.roots if not capture.tensors[root].requires_grad)
    made = [capture.ops[birth] for birth in births if birth >= 0]
    inside = (op for op in made if op.has(Trait.BACKWARD) and capture.regions[op.region].library == _ENGINE)
    return next((op for op in inside if capture.regions[op.region].kind != "enabled"), None)


def _rootless(capture: Capture, run: Backward) -> bool:
    return not run.roots or not all(capture.tensors[root].requires_grad for root in run.roots)


def _as_run(op: Op) -> Backward:
    return Backward(-1, "backward", op.index, op.index, op.site, op.inputs[:1], GraphHead(), error=op.error)
