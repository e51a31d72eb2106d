"""AG106: nothing that reaches the loss requires grad."""

from __future__ import annotations

import re
from collections.abc import Iterator

from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.rules.catalogue import rule
from autograd_inspector.rules.cuts.cutting import Severed, differentiable
from autograd_inspector.rules.cuts.idle import asked, idle_optimizers, why_frozen
from autograd_inspector.rules.cuts.severed import NO_GRAD_ERROR
from autograd_inspector.rules.edits.saving import CHECKPOINT
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.wording.names import folded, joined
from autograd_inspector.rules.wording.places import unique
from autograd_inspector.rules.wording.receivers import read_name
from autograd_inspector.rules.wording.spelling import called, method_on


@rule("AG106", "no-trainable-input")
def no_trainable_input(facts: Facts) -> Iterator[Finding]:
    """Nothing that reaches the loss requires grad: everything is frozen, or a reentrant checkpoint got no grad input.

    Why it matters
        Backward needs at least one leaf that requires grad. Reentrant checkpointing (`use_reentrant=True`) only
        records when one of its *inputs* does, whatever its parameters say. An
        optimizer that was given what does not require grad (an image, a prompt) has nothing to step, even where backward
        runs for other leaves.

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
        if NO_GRAD_ERROR in run.error:
            checkpoint = _reentrant_checkpoint(facts, run)
            if checkpoint is not None:
                yield _checkpoint_finding(facts, [checkpoint], run, _inside(facts, checkpoint))
            elif not any(cut.cause != "no_grad" or not _is_checkpoint(facts, cut) for cut in facts.severed):
                yield _all_frozen(facts, run)
        elif NOT_ASKED_ERROR in run.error:
            yield _not_asked(facts, [t for t in run.reached if not facts.capture.tensors[t].requires_grad], run.site)
    yield from _idle_checkpoints(facts)
    yield from _never_computed(facts)
    yield from idle_optimizers(facts)


_CALLED = re.compile(r"([\w.]+)\.backward\(")
NOT_ASKED_ERROR = "One of the differentiated Tensors does not require grad"


def _is_checkpoint(facts: Facts, cut: Severed) -> bool:
    return facts.capture.regions[cut.ops[0].region].library == "torch.utils.checkpoint"


def _reentrant_checkpoint(facts: Facts, run: Backward) -> Op | None:
    """A reentrant checkpoint above the loss whose inputs did not require grad while its parameters did."""
    found = None
    for op, _ in facts.flow.upstream([(root, run.start) for root in run.roots]):
        if op.name == CHECKPOINT and _inside(facts, op):
            found = op
    return found


def _inside(facts: Facts, checkpoint: Op) -> list[int]:
    """The parameters that require grad and were used inside a reentrant checkpoint's forward."""
    tensors = facts.capture.tensors
    found: dict[int, None] = {}
    for op in reversed(facts.capture.ops[: checkpoint.index]):
        if not op.has(Trait.INNER):
            break
        found |= dict.fromkeys(t for t in op.inputs if tensors[t].kind == "parameter" and tensors[t].requires_grad)
    return list(reversed(found))


def _idle_checkpoints(facts: Facts) -> Iterator[Finding]:
    """Reentrant checkpoints that starve parameters while backward has others to run to."""
    runs = [run for run in facts.capture.backwards if run.api == "backward" and not run.error]
    groups: dict[int, list[Op]] = {}
    for op in facts.capture.ops:
        if op.name == CHECKPOINT and not any(facts.capture.tensors[t].requires_grad for t in op.outputs):
            groups.setdefault(op.site, []).append(op)
    for members in groups.values():
        starved = [t for op in members for t in _inside(facts, op) if t in facts.starved]
        if starved and runs:
            yield _checkpoint_finding(facts, members, runs[-1], starved)


def _checkpoint_finding(facts: Facts, ops: list[Op], run: Backward, inside: list[int]) -> Finding:
    names = [facts.name(tensor) for tensor in inside]
    return Finding(
        "AG106",
        "no-trainable-input",
        "error" if run.error else "warning",
        f"checkpoint(use_reentrant=True) got no input that requires grad, so its output has no graph although "
        f"{folded(names) or 'its parameters'} would learn",
        "Pass use_reentrant=False, or let an input require grad (model.enable_input_require_grads()).",
        unique([*facts.chain(ops[0].site, "checkpointed here"), *facts.chain(run.site, "backward called here")]),
        tuple(dict.fromkeys(names)),
        ops=tuple(op.index for op in ops[:64]),
    )


def _all_frozen(facts: Facts, run: Backward) -> Finding:
    capture = facts.capture
    above = list(facts.flow.upstream([(root, run.start) for root in run.roots]))
    inputs = dict.fromkeys(t for op, _ in above for t in op.inputs if capture.tensors[t].kind == "parameter")
    frozen = [t for t in inputs if not capture.tensors[t].requires_grad]
    changes = [c for c in capture.leaf_changes if c.tensor in inputs and not c.requires_grad and c.at <= run.start]
    led = dict.fromkeys(t for op, _ in above for t in op.inputs)
    learnt = tuple(t for t in led if t in capture.optimized and not facts.requires_grad_at(t, run.start))
    frozen = [*learnt, *(t for t in frozen if t not in learnt)]
    names = [facts.name(t) for t in frozen]
    roots = joined((_root(facts, run, t) for t in run.roots), 2)
    given = list(dict.fromkeys(t for op, _ in above for t in op.inputs if _given(facts, t)))
    sources = [capture.tensors[t].variable for t in given]
    made_at = [op for op in map(facts.flow.birth, given) if op is not None and not names]
    since = f"{folded(names)} {'are' if len(names) > 1 else 'is'} frozen" if names else "no parameter took part"
    if 0 < len(learnt) < len(names):
        since += f"; the optimizer was given {folded(names[: len(learnt)])} to learn"
    if sources and not names:
        since += f", only {joined(sources, 4)}"
    made = facts.chain(above[0][0].site, "computed here") if above else ()
    return Finding(
        "AG106",
        "no-trainable-input",
        "error",
        f"nothing that {roots} is computed from requires grad: {since}",
        asked(facts, learnt)
        if learnt
        else "Call requires_grad_(True) before the forward on what should learn, or on the input whose gradient you want."
        if names
        else "Compute the loss from the output of what should learn: a parameter, or a tensor with requires_grad=True.",
        unique(
            [
                *(why_frozen(facts, learnt) if learnt else ()),
                *_given_to(facts, learnt),
                *(place for change in changes[-1:] for place in facts.chain(change.site, "frozen here")),
                *made,
                *(place for op in made_at[:3] for place in facts.chain(op.site, "made here, without requires_grad")),
                *facts.chain(run.site, "backward called here"),
            ]
        ),
        tuple(names) or tuple(dict.fromkeys(map(facts.name, run.roots))),
    )


def _root(facts: Facts, run: Backward, root: int) -> str:
    """The name of what backward was called on; of one that has none what the call reads: ``out.loss``."""
    record, place = facts.capture.tensors[root], facts.capture.place(run.site)
    found = _CALLED.search(place.source) if place is not None and len(run.roots) == 1 else None
    return called(facts, root) if record.names or record.variable or found is None else found[1]


def _given_to(facts: Facts, tensors: tuple[int, ...]) -> list[Location]:
    optimizers = facts.capture.placement.optimizers
    holders = [o for o in optimizers if any(t in group for group in o.parameters for t in tensors)]
    return [place for o in holders for place in facts.chain(o.site, "given to the optimizer here")]


def _given(facts: Facts, tensor: int) -> bool:
    """Whether the program made a tensor from nothing, or had it before, and gave it a name."""
    record = facts.capture.tensors[tensor]
    made = facts.capture.ops[record.birth] if record.birth >= 0 else None
    fresh = not made.inputs if made is not None else record.kind == "input"
    return fresh and bool(record.variable) and not record.requires_grad and differentiable(record.dtype)


def _never_computed(facts: Facts) -> Iterator[Finding]:
    """The program fell over the None that it read from ``.grad`` of a tensor that does not require grad."""
    reads = facts.capture.grad_reads
    if "NoneType" not in facts.capture.error or not reads:
        return
    read = reads[-1]
    record = facts.capture.tensors[read.tensor]
    if read.gradient < 0 and not record.requires_grad and record.kind in {"input", "activation"}:
        yield _not_asked(facts, [read.tensor], read.site, read_name(facts, read))


def _not_asked(facts: Facts, tensors: list[int], site: int, said: str = "") -> Finding:
    names = [said] if said else [called(facts, tensor) for tensor in tensors]
    made = [op for op in map(facts.flow.birth, tensors) if op is not None]
    return Finding(
        "AG106",
        "no-trainable-input",
        "error",
        f"the gradient of {joined(names, 3)} was asked for, but {'they do' if len(names) > 1 else 'it does'} not "
        "require grad",
        f"Call {method_on(names[0] if names else 'the tensor', 'requires_grad_()')} before the forward that uses it.",
        unique(
            [
                *facts.chain(site, "gradient asked for here"),
                *(place for op in made[:1] for place in facts.chain(op.site, "made here")),
            ]
        ),
        (said,) if said else tuple(dict.fromkeys(map(facts.name, tensors))),
    )
