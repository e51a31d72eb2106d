"""What the rules AG101 to AG106 say of a cut: what it keeps out, what that leads to, and where."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.finding import Finding, Severity
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import ModuleCall, Op, Region
from autograd_inspector.rules.catalogue import CATALOGUE, Facts, folded, joined, unique
from autograd_inspector.rules.cutting import DETACHING, Cause, Severed


def caused_by(facts: Facts, cause: Cause) -> Iterator[Severed]:
    """The cuts that matter and have this cause."""
    return (cut for cut in facts.severed if cut.cause == cause)


def cut_finding(
    facts: Facts, code: str, cut: Severed, message: str, fix: str, locations: tuple[Location, ...]
) -> Finding:
    """A finding about one cut; the effect on what is meant to learn is added to the message."""
    severity: Severity = "error" if cut.fatal else "warning"
    ends = facts.chain(cut.backward.site, "gradient asked for here" if _grad(cut) else "backward called here")
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
    """What the cut keeps out: a named module's output, a parameter, or the tensor."""
    return _output(facts, op) or joined((called(facts, t) for t in op.inputs), 3) or f"the result of `{op.name}`"


def called(facts: Facts, tensor: int) -> str:
    """A tensor's name; of one that has none the module whose output it is."""
    record = facts.capture.tensors[tensor]
    made = facts.flow.birth(tensor)
    named = record.names or record.variable or facts.storage_name(record.storage)
    return facts.name(tensor) if named or made is None else _output(facts, made) or facts.name(tensor)


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
    model = facts.capture.models[call.root] if call.root >= 0 else ""
    name = ".".join(filter(None, (model, call.path)))
    return f"the output of {name or call.type}"


def _within(call: ModuleCall, region: Region) -> bool:
    return region.kind != "enabled" and not region.at_entry and call.at >= region.at


def _grad(cut: Severed) -> bool:
    return cut.backward.api == "grad"


def _effect(facts: Facts, cut: Severed) -> str:
    names = folded(facts.name(t) for t in cut.parameters)
    if cut.fatal and _grad(cut) and not cut.backward.graph.nodes:
        return "the tensor given to torch.autograd.grad does not require grad"
    if cut.fatal and _grad(cut):
        return f"torch.autograd.grad does not find {names} in the graph"
    if cut.fatal and not cut.backward.error:
        return f"{names} got no gradient, so its .grad is None"
    if cut.fatal:
        lost = f" ({names} cannot learn)" if names else ""
        return f"the tensor given to backward does not require grad{lost}"
    return f"{names} {'get' if len(cut.parameters) > 1 else 'gets'} no gradient"
