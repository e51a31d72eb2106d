"""AG108 where a custom Function turns a gradient into zeros, while what lies behind learns by other ways. Needs values."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Trait
from autograd_inspector.model.rewrites import ReturnGradient
from autograd_inspector.model.torch_names import MODULE_HOOK
from autograd_inspector.model.wording import agree, summarize_names


def zeroing(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each Function. Where something gets nothing but zeros, AG303 tells of it; AG306 of module hooks.

    Nor is told of one that passed a gradient on elsewhere: the reversed gradient of a domain classifier begins with a
    strength of 0, and grows.
    """
    capture = analysis.capture
    passing = _passing(analysis)
    alive = {values.tensor for values in capture.leaf_values if not values.zero}
    told: set[str] = set()
    for fault in capture.gradient_faults:
        node = capture.nodes[fault.node]
        op = capture.op_of(node)
        behind = analysis.leaves_below(node)
        if (
            op is None
            or not op.has(Trait.FUNCTION)
            or op.name.startswith(MODULE_HOOK)
            or fault.kind != "zero"
            or op.name in told
            or op.name in passing
            or not behind <= alive
        ):
            continue
        told.add(op.name)
        name, names = op.name.removesuffix(".apply"), names_of(analysis, sorted(behind))
        yield Problem(
            "info",
            f"{name}.backward returns zeros for a gradient that is not zero: {summarize_names(names)} "
            f"{agree(names, 'gets', 'get')} gradients only through other paths",
            f"Return the gradient of {name}.forward from {name}.backward. To block the gradient, use detach(), which also saves the computation.",
            analysis.places((capture.function_sites.get(name, -1), "backward is defined here"), (op, "applied here")),
            (name,),
            ops=(op.index,),
            cures=tuple(
                (ReturnGradient(place, (0,)),)
                for place in analysis.user_frames(capture.function_sites.get(name, -1), "")[:1]
                if len(op.inputs) == 1
            ),
        )


def _passing(analysis: Analysis) -> frozenset[str]:
    """The Functions with a node that backward went through and that made no zeros."""
    capture = analysis.capture
    zeroed = {fault.node for fault in capture.gradient_faults if fault.kind == "zero"}
    if not zeroed:
        return frozenset()
    ops = (
        capture.op_of(node) for _, new in analysis.run_graphs for node in new if node.met and node.index not in zeroed
    )
    return frozenset(op.name for op in ops if op is not None and op.has(Trait.FUNCTION))
