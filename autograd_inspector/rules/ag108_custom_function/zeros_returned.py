"""AG108 where a custom Function turns a gradient into zeros, while what lies behind learns by other ways. Needs values."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Trait
from autograd_inspector.model.torch_names import MODULE_HOOK
from autograd_inspector.model.wording import agree, summarize_names


def zeroing(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each Function. Where something gets nothing but zeros, AG303 tells of it; AG306 of module hooks."""
    capture = analysis.capture
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
            or not behind <= alive
        ):
            continue
        told.add(op.name)
        name, names = op.name.removesuffix(".apply"), names_of(analysis, sorted(behind))
        yield Problem(
            "info",
            f"{name}.backward returns zeros for a gradient that is not zero: {summarize_names(names)} "
            f"{agree(names, 'gets', 'get')} gradients by other ways alone",
            f"Return the gradient of {name}.forward from {name}.backward. Where no gradient is meant to pass, detach() "
            "says so, and saves the computation.",
            analysis.places((capture.function_sites.get(name, -1), "backward is defined here"), (op, "applied here")),
            (name,),
            ops=(op.index,),
        )
