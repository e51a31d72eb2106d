"""AG303 and AG304: gradients of zeros, and the first NaN or Inf (both only where values were opted in)."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.autograd import Backward, Node
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.values import ValueFault
from autograd_inspector.rules.catalogue import Facts, folded, joined, rule, unique


@rule("AG303", "zero-gradient")
def zero_gradient(facts: Facts) -> Iterator[Finding]:
    """The gradient is exactly zero: a dead ReLU, a saturated clamp, sign or round. Needs `values=True`.

    Why it matters
        The parameter has a gradient, the optimizer steps it, and it never moves.

    Example
        ::

            hidden = torch.round(encoder(x))
            head(hidden).pow(2).mean().backward()

    Fix
        ::

            soft = encoder(x)
            hidden = soft + (torch.round(soft) - soft).detach()
            head(hidden).pow(2).mean().backward()

    References
        "Gradients for non-differentiable functions" in the autograd notes of the PyTorch documentation.
    """
    always: dict[int, bool] = {}
    for value in facts.capture.leaf_values:
        always[value.tensor] = always.get(value.tensor, True) and value.zero
    dead = {t for t, zero in always.items() if zero}
    alive = {t for t, zero in always.items() if not zero}
    told: dict[int, set[int]] = {}
    for fault in facts.capture.gradient_faults:
        if fault.kind != "zero":
            continue
        run = facts.capture.backwards[fault.backward]
        node = run.graph.nodes[fault.node]
        op = facts.capture.ops[node.op] if node.op >= 0 else None
        if op is None or any(t in alive and facts.capture.tensors[t].kind == "parameter" for t in op.inputs):
            continue  # A factor that is zero now but has a gradient of its own (LoRA's B) moves with the first step.
        behind = facts.leaves_below(run, node) & dead
        if behind:
            told.setdefault(op.index, set()).update(behind)
    seen: set[int] = set()
    for index, leaves in told.items():
        op = facts.capture.ops[index]
        if op.site not in seen:
            seen.add(op.site)
            yield _zero(facts, op, sorted(leaves))


def _zero(facts: Facts, op: Op, leaves: list[int]) -> Finding:
    names = [facts.name(t) for t in leaves]
    call = facts.capture.calls[op.call] if op.call >= 0 else None
    of = f" of '{call.path}' (nn.{call.type})" if call is not None and call.path else ""
    return Finding(
        "AG303",
        "zero-gradient",
        "warning",
        f"`{op.name}`{of} passes back a gradient that is exactly zero: {folded(names)} "
        f"{'never move' if len(names) > 1 else 'never moves'}",
        "Look at what goes into it: a ReLU or clamp outside its range, sign and round have derivative zero (use a "
        "straight-through estimator: `soft + (hard - soft).detach()`), two factors that are both zero stay so.",
        unique(
            [
                *facts.chain(op.site, "gradient becomes zero here"),
                *_set_by_hand(facts, op),
            ]
        ),
        tuple(dict.fromkeys([*names, *([call.path, call.type] if call is not None and call.path else [])])),
        ops=(op.index,),
    )


def _set_by_hand(facts: Facts, op: Op) -> tuple[Location, ...]:
    """Where the program itself wrote the parameters of the op that feeds this one."""
    found: list[Location] = []
    feeders = [facts.capture.ops[i] for t in op.inputs for i in facts.flow.producers(t, op.index)]
    for feeder in feeders:
        for tensor in feeder.inputs:
            record = facts.capture.tensors[tensor]
            writes = [w for w, _ in facts.writes_to(record.storage, tensor, 0, feeder.index) if not w.has(Trait.STEP)]
            if record.kind == "parameter" and writes:
                found += facts.chain(writes[-1].site, f"{facts.name(tensor)} was last set here")
    return tuple(found)


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


def _forward_fault(facts: Facts, run: Backward) -> ValueFault | None:
    """The first producer upstream of the loss."""
    above = {op.index for op, _ in facts.flow.upstream([(r, run.start) for r in run.roots], lambda o, t: True)}
    for fault in facts.capture.value_faults:
        if (fault.op if fault.op >= 0 else fault.met_by) in above:
            return fault
    return None


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
    given = [f"{facts.name(r.tensor)}: {r}" for r in fault.inputs]
    return Finding(
        "AG304",
        "nan-or-inf",
        "error",
        f"`{op.name}` makes the first {what}, in {names}, out of finite values",
        _cure(op),
        unique([*facts.chain(op.site, f"first {what} here"), *ends]),
        (names, op.name),
        tuple(f"It was given {text}." for text in given),
        (op.index,),
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
        f"the loss is finite, but {short} makes the first NaN of the backward pass: the derivative of {name} is not "
        f"finite there, and {folded(names)} {'get' if len(names) > 1 else 'gets'} NaN",
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
    "pow": "Keep the base away from 0 for exponents below 1: `(x + eps).pow(p)`.",
}


def _cure(op: Op | None) -> str:
    name = op.name.strip("_") if op is not None else ""
    name = {"true_divide": "div", "__rdiv__": "div", "__rtruediv__": "div", "rsqrt": "sqrt", "norm": "sqrt"}.get(
        name, name
    )
    return _CURES.get(name, "Bound the inputs of this op, or compute in a wider dtype.")
