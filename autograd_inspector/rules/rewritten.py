"""AG306: gradients that a hook or an assignment changed."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.finding import Finding
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.rules.catalogue import Facts, folded, rule, unique


@rule("AG306", "gradient-rewritten")
def gradient_rewritten(facts: Facts) -> Iterator[Finding]:
    """A tensor hook, or a write to `.grad` outside backward and step, zeroed, replaced or aliased a gradient.

    Why it matters
        The optimizer steps with something else than what backward computed. Two parameters that share one gradient
        tensor accumulate into each other.

    Example
        ::

            first(x).pow(2).mean().backward()
            second.weight.grad = first.weight.grad
            optimizer.step()

    Fix
        ::

            first(x).pow(2).mean().backward()
            second.weight.grad = first.weight.grad.clone()
            optimizer.step()

    References
        torch.Tensor.register_hook ("the hook should not modify its argument"); torch.Tensor.grad.
    """
    yield from _aliased(facts)
    yield from _replaced(facts)
    yield from _edited_in_hook(facts)
    yield from _zeroed_by_hook(facts)


def _aliased(facts: Facts) -> Iterator[Finding]:
    """One gradient tensor under two parameters."""
    owners: dict[int, int] = {}
    for read in facts.capture.grad_reads:
        if read.gradient >= 0:
            owners.setdefault(read.gradient, read.tensor)
    for write in facts.capture.grad_writes:
        owner = owners.get(write.gradient, write.tensor) if write.gradient >= 0 else write.tensor
        if owner != write.tensor:
            names = (facts.name(write.tensor), facts.name(owner))
            yield Finding(
                "AG306",
                "gradient-rewritten",
                "warning",
                f"the .grad of {names[0]} is the very tensor that is the .grad of {names[1]}: they accumulate into each other",
                "Assign a copy: `.grad.clone()`.",
                facts.chain(write.site, "aliased here"),
                names,
            )
        elif write.gradient >= 0:
            owners[write.gradient] = write.tensor


def _replaced(facts: Facts) -> Iterator[Finding]:
    """Between backward and step, ``.grad`` was assigned something that no gradient went into."""
    capture = facts.capture
    for write in capture.grad_writes:
        before = [r for r in capture.backwards if r.end <= write.at and write.tensor in r.reached and not r.error]
        after = [s for s in capture.steps if s.at >= write.at and any(p.tensor == write.tensor for p in s.parameters)]
        if write.gradient < 0 or not before or not after:
            continue
        if any(r.start >= write.at and r.end <= after[0].at for r in capture.backwards):
            continue
        gradients = {r.gradient for r in capture.grad_reads if r.gradient >= 0}
        sources = {t for op, _ in facts.flow.upstream([(write.gradient, write.at)], lambda o, t: True) for t in op.inputs}
        if write.gradient in gradients or sources & gradients:
            continue
        made = facts.flow.birth(write.gradient)
        if made is None:
            continue  # Where it comes from is not known: nothing can be said against it.
        name = facts.name(write.tensor)
        yield Finding(
            "AG306",
            "gradient-rewritten",
            "warning",
            f"the .grad of {name} was replaced between backward() and step() by the result of `{made.name}`, which no "
            "gradient went into",
            "Drop the assignment, or compute the new gradient from the one that backward left.",
            unique([*facts.chain(write.site, "replaced here"), *facts.chain(after[0].site, "step() uses it here")]),
            (name,),
        )


def _edited_in_hook(facts: Facts) -> Iterator[Finding]:
    """In place on a gradient while backward runs: what hooks are told not to do."""
    seen: set[int] = set()
    for op in facts.capture.ops:
        if not op.has(Trait.BACKWARD) or op.has(Trait.INNER) or op.site in seen:
            continue
        for write in op.writes:
            record = facts.capture.tensors[write.tensor]
            if record.birth >= 0 or record.kind in {"parameter", "buffer"} or not _is_gradient(facts, op, write.tensor):
                continue
            seen.add(op.site)
            hooked = [facts.name(h.tensor) for h in facts.capture.tensor_hooks]
            yield Finding(
                "AG306",
                "gradient-rewritten",
                "warning",
                f"`{op.name}` modifies a gradient in place inside a hook{' of ' + folded(hooked) if hooked else ''}: other "
                "paths of backward may share that tensor",
                "Return a new tensor from the hook instead of modifying its argument.",
                unique([
                    *facts.chain(op.site, "gradient modified here"),
                    *(p for h in facts.capture.tensor_hooks[:2] for p in facts.chain(h.site, "hook registered here")),
                ]),
                tuple(dict.fromkeys([*hooked, op.name])),
                ops=(op.index,),
            )


def _is_gradient(facts: Facts, op: Op, tensor: int) -> bool:
    """Whether the engine made the tensor: first met inside backward, and of the shape of something hooked."""
    record = facts.capture.tensors[tensor]
    inside = any(r.start <= record.first_use <= r.end for r in facts.capture.backwards)
    return inside and any(facts.capture.tensors[h.tensor].shape == record.shape for h in facts.capture.tensor_hooks)


def _zeroed_by_hook(facts: Facts) -> Iterator[Finding]:
    """A hooked leaf whose gradient is all zeros (or not finite) although what arrived was not. Needs values."""
    explained = {t for f in facts.capture.gradient_faults for t in _below(facts, f.backward, f.node)}
    for value in facts.capture.leaf_values:
        hooks = [h for h in facts.capture.tensor_hooks if h.tensor == value.tensor]
        if (value.zero or value.nonfinite) and hooks and value.tensor not in explained:
            name = facts.name(value.tensor)
            what = "all zeros" if value.zero else "not finite"
            yield Finding(
                "AG306",
                "gradient-rewritten",
                "warning",
                f"the hook {hooks[0].name} rewrites the gradient of {name}: it is {what} although backward computed others",
                "Return the gradient itself (or a scaled copy) from the hook, or remove the hook.",
                facts.chain(hooks[0].site, "hook registered here"),
                (name, hooks[0].name),
            )


def _below(facts: Facts, backward: int, node: int) -> set[int]:
    run = facts.capture.backwards[backward]
    return facts.leaves_below(run, run.graph.nodes[node])
