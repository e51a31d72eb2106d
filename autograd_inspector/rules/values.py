"""AG304: the first NaN or Inf (only where values were opted in)."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.autograd import Backward, Node
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op
from autograd_inspector.model.values import ValueFault
from autograd_inspector.rules.catalogue import Facts, folded, joined, rule, unique


@rule("AG304", "nan-or-inf")
def nan_or_inf(facts: Facts) -> Iterator[Finding]:
    """The first op that made NaN or Inf out of finite values, in the forward or in backward. Needs `values=True`.

    Why it matters
        By the time the loss is NaN every weight is. In backward, `0 * inf` makes NaN where the forward was fine:
        `sqrt` at 0, a division in the branch that `torch.where` does not take.

    Example
        ::

            distance = (net(x) - net(y)).pow(2).sum(1).sqrt()
            distance.sum().backward()

    Fix
        ::

            distance = torch.linalg.vector_norm(net(x) - net(y), dim=1)
            distance.sum().backward()

    References
        torch.autograd.detect_anomaly; torch.where ("double where" against NaN gradients).
    """
    capture = facts.capture
    spoiled = {v.backward for v in capture.leaf_values if v.nonfinite}
    for run in capture.backwards:
        bad_roots = [r for r in run.roots if _holds_bad(facts, r)]
        if run.index not in spoiled and not bad_roots:
            continue
        forward = _forward_fault(facts, run) if bad_roots else None
        if forward is not None:
            yield _produced(facts, forward, run)
            return
        nodes = [f.node for f in capture.gradient_faults if f.backward == run.index and f.kind == "nonfinite"]
        if nodes:
            yield _in_backward(facts, run, run.graph.nodes[nodes[0]])
            return


def _holds_bad(facts: Facts, tensor: int) -> bool:
    """Whether a root was seen to be not finite: some op made it so, or passed it on."""
    return tensor in facts.capture.bad_tensors


_MEANT = {
    "masked_fill", "masked_fill_", "full", "full_like", "new_full", "fill_", "tensor", "where", "__setitem__", "triu",
    "zero_", "scalar_tensor",
}  # fmt: skip
"""Ops that put an infinity where the program says so."""
_UNSET = ("empty", "new_empty", "resize_")
"""Ops whose result holds whatever the memory held before."""


def _forward_fault(facts: Facts, run: Backward) -> ValueFault | None:
    """The first producer upstream of the loss; an infinity that was meant (a mask) only where there is no other."""
    above = {op.index for op, _ in facts.flow.upstream([(r, run.start) for r in run.roots], lambda o, t: True)}
    capture = facts.capture
    found = [f for f in capture.value_faults if (f.op if f.op >= 0 else f.met_by) in above]
    found = [f for f in found if f.op < 0 or not capture.ops[f.op].name.startswith(_UNSET)]
    unmeant = [f for f in found if any(r.nan for r in f.outputs) or not _meant(facts, f)]
    return next(iter(unmeant or found), None)


def _meant(facts: Facts, fault: ValueFault) -> bool:
    return fault.op < 0 or facts.capture.ops[fault.op].name in _MEANT


def _produced(facts: Facts, fault: ValueFault, run: Backward) -> Finding:
    what = "NaN" if any(r.nan for r in fault.outputs) else "Inf"
    names = joined(facts.name(r.tensor) for r in fault.outputs)
    ends = facts.chain(run.site, "backward called here")
    if fault.op < 0:
        met = facts.capture.ops[fault.met_by]
        return Finding(
            "AG304",
            "nan-or-inf",
            "error",
            f"{names} already holds {what} when `{met.name}` first reads it: the data, not an op of the capture, is the "
            f"origin ({fault.outputs[0]})",
            "Check the data: `torch.isfinite(batch).all()`.",
            unique([*facts.chain(met.site, f"{what} enters here"), *ends]),
            (names,),
            ops=(met.index,),
        )
    op = facts.capture.ops[fault.op]
    into = f"in {names}" if "[" not in names else f"in its result ({names})"
    sound = all(r.finite for r in fault.inputs)
    grown = _grown(facts, fault, op) if sound else ()
    given = [f"{facts.name(r.tensor)}: {r}" for r in fault.inputs]
    return Finding(
        "AG304",
        "nan-or-inf",
        "error",
        f"`{op.name}` makes the first {what}, {into}, out of {'finite' if sound else 'infinite'} values"
        + (": the values have grown from step to step" if grown else ""),
        "Lower the learning rate, or clip the gradients: torch.nn.utils.clip_grad_norm_." if grown else _cure(op),
        unique([*facts.chain(op.site, f"first {what} here"), *grown, *ends]),
        (names, op.name),
        tuple(f"It was given {text}." for text in given),
        (op.index,),
    )


_HUGE = 1e8


def _grown(facts: Facts, fault: ValueFault, op: Op) -> tuple[Location, ...]:
    """Where the optimizer was made whose steps led to values of this size."""
    steps = [s for s in facts.capture.steps if s.at < op.index]
    if len(steps) < 2 or not any(max(abs(r.low), abs(r.high)) > _HUGE for r in fault.inputs):
        return ()
    optimizer = facts.capture.placement.optimizers[steps[-1].optimizer]
    return (
        *facts.chain(optimizer.site, "the steps of this optimizer led here"),
        *facts.chain(steps[-1].site, "last step before it"),
    )


def _in_backward(facts: Facts, run: Backward, node: Node) -> Finding:
    op = facts.capture.ops[node.op] if node.op >= 0 else None
    short = node.name.rsplit("::", 1)[-1]
    behind = sorted(facts.leaves_below(run, node))
    names = [facts.name(t) for t in behind]
    name = f"`{op.name}`" if op is not None else short
    made = [facts.name(t) for t in op.outputs] if op is not None else []
    return Finding(
        "AG304",
        "nan-or-inf",
        "error",
        f"the loss is finite, but {short} makes the first NaN or Inf of the backward pass: the derivative of {name} is not "
        f"finite there, and {folded(names)} {'get' if len(names) > 1 else 'gets'} it",
        _cure(op),
        unique(
            [
                *(facts.chain(op.site, "derivative is not finite here") if op is not None else ()),
                *facts.chain(run.site, "backward called here"),
            ]
        ),
        tuple(dict.fromkeys([*made, *names])),
        ops=(op.index,) if op is not None else (),
    )


_CURES = {
    "sqrt": "Keep it away from 0: `torch.sqrt(x + eps)`, or torch.linalg.vector_norm, whose derivative at 0 is 0.",
    "div": "Divide by something that is never 0: `x / torch.where(y == 0, 1, y)`; masking the result afterwards is too late.",
    "exp": "Bound its argument in the branch that is not used as well: `torch.exp(x.clamp(max=...))`.",
    "log": "Keep its argument away from 0: `torch.log(x.clamp(min=eps))`, or log_softmax / log1p.",
    "std": "The std of one value is 0 / 0, and the derivative of std at 0 is infinite: take it over more than one value, "
    "with an eps below the root: `torch.sqrt(x.var(dim, correction=0) + eps)`.",
    "var": "The var of one value is 0 / 0: take it over more than one, or pass correction=0.",
    "softmax": "A row that is -inf throughout, or holds +inf, has no softmax: leave one position of each row unmasked, or mask with a "
    "finite number: `masked_fill(mask, torch.finfo(x.dtype).min)`.",
    "pow": "Keep the base away from 0 for exponents below 1: `(x + eps).pow(p)`.",
}


_SAME = {
    "true_divide": "div", "__rdiv__": "div", "__rtruediv__": "div", "rsqrt": "sqrt", "norm": "sqrt", "std_mean": "std",
    "var_mean": "var", "log_softmax": "softmax",
}  # fmt: skip


def _cure(op: Op | None) -> str:
    name = op.name.strip("_") if op is not None else ""
    name = _SAME.get(name, name)
    return _CURES.get(name, "Bound the inputs of this op, or compute in a wider dtype.")
