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
    capture = facts.capture
    always: dict[int, bool] = {}
    for value in capture.leaf_values:
        always[value.tensor] = always.get(value.tensor, True) and value.zero
    dead = {t for t, zero in always.items() if zero}
    alive = {t for t, zero in always.items() if not zero}
    spoiled = {v.backward for v in capture.leaf_values if v.nonfinite}
    spoiled |= {run.index for run in capture.backwards if capture.bad_tensors.intersection(run.roots)}
    told: dict[int, set[int]] = {}
    for fault in capture.gradient_faults:
        run = capture.backwards[fault.backward]
        node = run.graph.nodes[fault.node]
        op = capture.ops[node.op] if node.op >= 0 else None
        if fault.kind != "zero" or op is None or run.index in spoiled or op.name.startswith(MODULE_HOOK):
            continue
        behind = facts.leaves_below(run, node) & dead
        if behind and not _by_design(facts, op, alive):
            told.setdefault(op.index, set()).update(behind)
    places: dict[int, tuple[Op, set[int]]] = {}
    for index, leaves in told.items():
        op = capture.ops[index]
        known = places.setdefault(op.site, (op, set()))
        known[1].update(leaves)
        if op.name in _SATURATING:  # What it feeds gets no gradient either, for its input is zero: a consequence.
            places[op.site] = (op, known[1])
    for op, leaves in places.values():
        yield _zero(facts, op, sorted(leaves))


MODULE_HOOK = "BackwardHookFunction"
"""The Function with which torch calls the backward hooks of a module."""


def _by_design(facts: Facts, op: Op, alive: set[int]) -> bool:
    """Whether the zero is one that the next step, or the program on purpose, makes up for.

    A factor that is zero now and has a gradient of its own (LoRA's B) moves with the first step. A term multiplied by
    the number 0 is left out of a loss that others make up.
    """
    tensors = facts.capture.tensors
    if any(t in alive and tensors[t].kind == "parameter" for t in _factors(op)):
        return True
    return op.name in {"mul", "__rmul__"} and len(op.inputs) == 1 and bool(alive)


def _factors(op: Op) -> tuple[int, ...]:
    """The inputs that the gradient of another input is multiplied by: a bias is none."""
    if op.name in {"addmm", "baddbmm", "addmv"}:
        return op.inputs[1:]
    return op.inputs[:2] if op.name in _WITH_BIAS else op.inputs


_WITH_BIAS = {"linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "bilinear", "add", "sub"}
_SATURATING = {
    "relu", "relu_", "clamp", "clamp_", "hardtanh", "relu6", "sigmoid", "tanh", "softmax", "hardsigmoid", "clip", "erf",
    "threshold", "maximum", "minimum",
}  # fmt: skip
"""Ops whose derivative is zero in places only: what goes in has the blame."""


def _zero(facts: Facts, op: Op, leaves: list[int]) -> Finding:
    names = [facts.name(t) for t in leaves]
    call = facts.capture.calls[op.call] if op.call >= 0 else None
    of = f" of '{call.path}' (nn.{call.type})" if call is not None and call.path else ""
    here = facts.chain(op.site, "gradient becomes zero here")
    given = _set_by_hand(facts, op)
    return Finding(
        "AG303",
        "zero-gradient",
        "warning",
        f"`{op.name}`{of} passes back a gradient that is exactly zero: {folded(names)} "
        f"{'never move' if len(names) > 1 else 'never moves'}",
        "Look at what goes into it: a ReLU or clamp outside its range, sign and round have derivative zero (use a "
        "straight-through estimator: `soft + (hard - soft).detach()`), two factors that are both zero stay so.",
        unique([*given, *here] if op.name in _SATURATING or _own_weights(facts, op) else [*here, *given]),
        tuple(dict.fromkeys([*names, *([call.path, call.type] if call is not None and call.path else [])])),
        ops=(op.index,),
    )


def _own_weights(facts: Facts, op: Op) -> bool:
    return any(facts.capture.tensors[t].kind == "parameter" for t in _factors(op))


def _set_by_hand(facts: Facts, op: Op) -> tuple[Location, ...]:
    """Where the program itself wrote the parameters of this op, or of the one that feeds it, after they were made."""
    capture = facts.capture
    fed = [t for t in op.inputs if capture.tensors[t].kind != "parameter"]
    feeders = [capture.ops[i] for t in fed for i in facts.flow.producers(t, op.index)]
    parameters = dict.fromkeys(
        t
        for read in [_factors(op), *(feeder.inputs for feeder in feeders)]
        for t in read
        if capture.tensors[t].kind == "parameter"
    )
    made = {c.site for c in capture.changes if c.kind == "registered"}
    lines = {(p.filename, p.lineno) for p in map(capture.place, made) if p is not None}
    last: list[Op] = []
    for tensor in parameters:
        storage = capture.tensors[tensor].storage
        writes = [w for w, _ in facts.writes_to(storage, tensor, 0, op.index) if not w.has(Trait.STEP)]
        places = [(w, capture.place(w.site)) for w in writes[-1:]]
        last += [w for w, p in places if p is not None and (p.filename, p.lineno) not in lines]
    return tuple(
        place
        for write in sorted(last, key=lambda w: -w.index)
        for place in facts.chain(
            write.site, f"{joined(map(facts.name, (w.tensor for w in write.writes)))} was set here"
        )
    )


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
    "pow": "Keep the base away from 0 for exponents below 1: `(x + eps).pow(p)`.",
}


def _cure(op: Op | None) -> str:
    name = op.name.strip("_") if op is not None else ""
    name = {"true_divide": "div", "__rdiv__": "div", "__rtruediv__": "div", "rsqrt": "sqrt", "norm": "sqrt"}.get(
        name, name
    )
    return _CURES.get(name, "Bound the inputs of this op, or compute in a wider dtype.")
