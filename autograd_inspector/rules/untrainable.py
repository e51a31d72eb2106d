"""AG106: nothing that reaches the loss requires grad."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.finding import Finding
from autograd_inspector.model.op import Op
from autograd_inspector.rules.catalogue import Facts, folded, joined, rule, unique
from autograd_inspector.rules.severed import NO_GRAD_ERROR, Severed


@rule("AG106", "no-trainable-input")
def no_trainable_input(facts: Facts) -> Iterator[Finding]:
    """Nothing that reaches the loss requires grad: everything is frozen, or a reentrant checkpoint got no grad input.

    Why it matters
        Backward needs at least one leaf that requires grad. Reentrant checkpointing (`use_reentrant=True`) only
        records when one of its *inputs* does, whatever its parameters say.

    Example
        ::

            for parameter in net.parameters():
                parameter.requires_grad = False
            net(x).pow(2).mean().backward()

    Fix
        ::

            for parameter in net[0].parameters():
                parameter.requires_grad = False
            net(x).pow(2).mean().backward()

    References
        torch.utils.checkpoint.checkpoint (use_reentrant); torch.nn.Module.requires_grad_.
    """
    for run in facts.capture.backwards:
        if NO_GRAD_ERROR not in run.error:
            continue
        checkpoint = _reentrant_checkpoint(facts, run.start, run.roots)
        if checkpoint is not None:
            yield _checkpoint_finding(facts, checkpoint, run.site)
        elif not any(cut.cause != "no_grad" or not _is_checkpoint(facts, cut) for cut in facts.severed):
            yield _all_frozen(facts, run.roots, run.start, run.site)


def _is_checkpoint(facts: Facts, cut: Severed) -> bool:
    return facts.capture.regions[cut.ops[0].region].library == "torch.utils.checkpoint"


def _reentrant_checkpoint(facts: Facts, before: int, roots: tuple[int, ...]) -> Op | None:
    """A reentrant checkpoint above the loss whose inputs did not require grad while its parameters did."""
    found = None
    for op, _ in facts.flow.upstream([(root, before) for root in roots]):
        if op.name == "CheckpointFunction.apply":
            found = op
    return found


def _checkpoint_finding(facts: Facts, op: Op, backward: int) -> Finding:
    capture = facts.capture
    inside = [
        t
        for o in capture.ops[: op.index]
        if capture.regions[o.region].library == "torch.utils.checkpoint"
        for t in o.inputs
        if capture.tensors[t].kind == "parameter" and capture.tensors[t].requires_grad
    ]
    names = folded(facts.name(t) for t in inside)
    return Finding(
        "AG106",
        "no-trainable-input",
        "error",
        f"checkpoint(use_reentrant=True) got no input that requires grad, so its output has no graph although "
        f"{names or 'its parameters'} would learn",
        "Pass use_reentrant=False, or let an input require grad (model.enable_input_require_grads()).",
        unique([*facts.chain(op.site, "checkpointed here"), *facts.chain(backward, "backward called here")]),
        tuple(dict.fromkeys(facts.name(t) for t in inside)),
        ops=(op.index,),
    )


def _all_frozen(facts: Facts, roots: tuple[int, ...], before: int, backward: int) -> Finding:
    capture = facts.capture
    inputs = dict.fromkeys(
        t
        for op, _ in facts.flow.upstream([(root, before) for root in roots])
        for t in op.inputs
        if capture.tensors[t].kind == "parameter"
    )
    frozen = [t for t in inputs if not capture.tensors[t].requires_grad]
    changes = [c for c in capture.leaf_changes if c.tensor in inputs and not c.requires_grad and c.at <= before]
    names = [facts.name(t) for t in frozen]
    where = tuple(place for change in changes[-1:] for place in facts.chain(change.site, "frozen here"))
    roots_named = joined(map(facts.name, roots), 2)
    message = (
        f"nothing that {roots_named} is computed from requires grad: {folded(names)} are frozen"
        if names
        else f"nothing that {roots_named} is computed from requires grad: no parameter took part"
    )
    return Finding(
        "AG106",
        "no-trainable-input",
        "error",
        message,
        "Call requires_grad_(True) on what should learn before the forward."
        if names
        else "Compute the loss from the model's output.",
        unique([*where, *facts.chain(backward, "backward called here")]),
        tuple(names) or (roots_named,),
    )
