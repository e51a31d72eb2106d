"""What the rules AG101 to AG106 say of a cut: what it keeps out, what that leads to, and where."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.finding import Finding, Severity
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import ModuleCall, Op, Region
from autograd_inspector.rules.catalogue import CATALOGUE
from autograd_inspector.rules.cuts.cutting import DETACHING, Cause, Severed
from autograd_inspector.rules.cuts.numbers import NOT_A_TENSOR
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.wording.names import folded, joined
from autograd_inspector.rules.wording.places import unique


def caused_by(facts: Facts, cause: Cause) -> Iterator[Severed]:
    """The cuts that matter and have this cause."""
    return (cut for cut in (*facts.severed, *facts.constant_terms) if cut.cause == cause)


def cut_finding(
    facts: Facts, code: str, cut: Severed, message: str, fix: str, locations: tuple[Location, ...]
) -> Finding:
    """A finding about one cut; the effect on what is meant to learn is added to the message."""
    severity: Severity = "error" if cut.fatal else "warning"
    ends = facts.chain(cut.backward.site, "gradient asked for here" if _grad(cut) else "backward called here")
    if cut.added >= 0:
        ends = (*facts.chain(facts.capture.ops[cut.added].site, "added to the loss here"), *ends)
    names = [facts.name(t) for t in cut.parameters] or [facts.name(t) for t in cut.ops[0].inputs]
    return Finding(
        code,
        CATALOGUE[code].name,
        severity,
        f"{message}: {_effect(facts, cut)}",
        fix,
        unique([*locations, *ends]),
        tuple(dict.fromkeys(names)),
        ops=tuple(op.index for op in cut.ops[:64]),
    )


def described(facts: Facts, op: Op) -> str:
    """What the cut keeps out: the op's inputs where they have names or are what a module returned, else its result."""
    learning = [t for t in op.inputs if facts.capture.tensors[t].requires_grad] or list(op.inputs)
    given = [called(facts, t) for t in learning]
    named = [name for name in given if not name.startswith(NAMELESS)]
    return joined(named, 3) or _returned(facts, op) or joined(given, 3) or f"{NAMELESS} `{op.name}`"


def called(facts: Facts, tensor: int) -> str:
    """A tensor's name; of one that has none the module that returned it, else the op."""
    record = facts.capture.tensors[tensor]
    made = facts.flow.birth(tensor)
    if record.names or record.variable or facts.storage_name(record.storage):
        return facts.name(tensor)
    if made is None:
        return f"a {facts.name(tensor)} tensor"
    if made.name in DETACHING and made.inputs:
        return called(facts, made.inputs[0])
    return _returned(facts, made) or f"{NAMELESS} `{made.name}`"


NAMELESS = "the result of"


def _returned(facts: Facts, op: Op) -> str:
    """The outermost module whose call the op ended, so that it gave the module's output; "" where it ended none."""
    calls, ops, best = facts.capture.calls, facts.capture.ops, None
    call = calls[op.call] if op.call >= 0 and op.name not in DETACHING else None
    later = ops[op.index + 1].call if op.index + 1 < len(ops) else -1
    around = set()
    while later >= 0:
        around.add(later)
        later = calls[later].parent
    while call is not None and call.id not in around:
        best = call
        call = calls[call.parent] if call.parent >= 0 else None
    return f"the output of {_path(facts, best)}" if best is not None else ""


def _path(facts: Facts, call: ModuleCall) -> str:
    model = facts.capture.models[call.root] if call.root >= 0 else ""
    return ".".join(filter(None, (model, call.path))) or call.type


def outcome(facts: Facts, cut: Severed) -> str:
    """What was computed: what was written, a named module's output, or the variable that got the result."""
    op = cut.ops[0]
    if op.writes:
        return joined((facts.name(write.tensor) for write in op.writes), 3)
    tensors = facts.capture.tensors
    assigned = next((tensors[t].variable for t in reversed(cut.through) if tensors[t].variable), "")
    return _output(facts, op) or assigned or f"the result of `{op.name}`"


def _output(facts: Facts, op: Op) -> str:
    """The outermost module that ran wholly under the grad mode of the op, else the innermost that has a name."""
    if op.call < 0 or op.name in DETACHING:
        return ""
    calls, region = facts.capture.calls, facts.capture.regions[op.region]
    call = calls[op.call]
    while call.parent >= 0 and (_within(calls[call.parent], region) or not (call.path or calls[call.parent].site < 0)):
        call = calls[call.parent]
    return f"the output of {_path(facts, call)}"


def _within(call: ModuleCall, region: Region) -> bool:
    return region.kind != "enabled" and not region.at_entry and call.at >= region.at


def _grad(cut: Severed) -> bool:
    return cut.backward.api == "grad"


def _effect(facts: Facts, cut: Severed) -> str:
    names, many = folded(facts.name(t) for t in cut.parameters), len(cut.parameters) > 1
    if cut.added >= 0:
        return f"this term of the loss is a constant, and {names} learn{'' if many else 's'} nothing from it"
    if not cut.fatal:
        return f"{names} {'get' if many else 'gets'} no gradient"
    return _asked_in_vain(cut, names) if _grad(cut) else _failed(cut, names)


def _asked_in_vain(cut: Severed, names: str) -> str:
    if not cut.backward.graph.roots:
        return "the tensor given to torch.autograd.grad does not require grad"
    return f"torch.autograd.grad does not find {names} in the graph"


def _failed(cut: Severed, names: str) -> str:
    if not cut.backward.error:
        return f"{names} got no gradient, so its .grad is None"
    what = (
        "what backward() is called on is a plain number"
        if NOT_A_TENSOR in cut.backward.error
        else "the tensor given to backward does not require grad"
    )
    return what + (f" ({names} cannot learn)" if names else "")
