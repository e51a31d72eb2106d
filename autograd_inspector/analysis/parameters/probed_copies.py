"""Copies that are looked into, not learnt from: saliency maps, adversarial examples, snapshots taken in training."""

from __future__ import annotations

from collections.abc import Collection

from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture


def trained_beside(capture: Capture, copies: Collection[int]) -> bool:
    """Whether what an optimizer holds gets a gradient of a backward that reaches copies, and not through them alone.

    A loss that trains nothing is there for the gradient of what went in; so is a copy that what learns (an image, a
    policy) gets its gradient through. A target network's output goes into the loss beside what learns.
    """
    avoided, nodes = set(copies), capture.nodes
    runs = [run for run in _reaching(capture, copies) if not capture.optimized.isdisjoint(run.reached)]
    # A way that no op with the copies lies on, from any of the runs.
    todo = list(dict.fromkeys(root for run in runs for root in run.graph.roots))
    seen = set(todo)
    while todo:
        node = nodes[todo.pop()]
        if node.variable in capture.optimized:
            return True
        if node.op >= 0 and not avoided.isdisjoint(capture.ops[node.op].inputs):
            continue
        for child, _ in node.edges:
            if child not in seen:
                seen.add(child)
                todo.append(child)
    return False


def asks_for_input(capture: Capture, tensors: Collection[int]) -> bool:
    """Whether each backward that reaches these parameters trains nothing, and the gradient of what went in is read.

    That of an image, or of the step towards an adversarial example.
    """
    read = {each.tensor for each in capture.grad_reads if each.gradient >= 0}
    runs = _reaching(capture, tensors)
    return bool(runs) and all(
        capture.optimized.isdisjoint(run.reached) and not read.isdisjoint(_inputs(capture, run)) for run in runs
    )


def looked_into(capture: Capture, copies: Collection[int]) -> bool:
    """Whether each backward that reaches the copies is for something else: what an optimizer holds, or what went in."""
    return all(
        not capture.optimized.isdisjoint(run.reached) or _inputs(capture, run) for run in _reaching(capture, copies)
    )


def _inputs(capture: Capture, run: Backward) -> set[int]:
    """The leaves without a module that a backward reaches."""
    return {t for t in run.reached if capture.tensors[t].kind != "parameter"}


def _reaching(capture: Capture, tensors: Collection[int]) -> list[Backward]:
    runs = (run for run in capture.completed_runs)
    return [run for run in runs if not set(tensors).isdisjoint(run.reached)]
