"""What the rules AG101 to AG106 say of a cut: what it keeps out, what that leads to, and where."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.names import join_names, summarize_names
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.classifier import Cause, GradientCut
from autograd_inspector.analysis.gradient_cuts.python_scalars import NOT_A_TENSOR
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.finding import Problem, Severity
from autograd_inspector.model.location import Location, dedupe_locations
from autograd_inspector.model.op import ModuleCall, Op, Region


def caused_by(analysis: Analysis, *causes: Cause) -> Iterator[GradientCut]:
    """The cuts that matter and have one of these causes."""
    return (cut for cut in (*analysis.harmful_cuts, *analysis.constant_terms) if cut.cause in causes)


def cut_problem(
    analysis: Analysis, cut: GradientCut, message: str, fix: str, locations: tuple[Location, ...]
) -> Problem:
    """A problem with one cut; the effect on what is meant to learn is added to the message."""
    severity: Severity = "error" if cut.fatal else "warning"
    ends = analysis.user_frames(cut.backward.site, "gradient asked for here" if _grad(cut) else "backward called here")
    if cut.added >= 0:
        ends = (*analysis.user_frames(analysis.capture.ops[cut.added].site, "added to the loss here"), *ends)
    names = [analysis.display_name(t) for t in cut.parameters] or [analysis.display_name(t) for t in cut.ops[0].inputs]
    return Problem(
        severity,
        f"{message}: {_effect(analysis, cut)}",
        fix,
        dedupe_locations([*locations, *ends]),
        tuple(dict.fromkeys(names)),
        ops=tuple(op.index for op in cut.ops[:64]),
    )


def described(analysis: Analysis, op: Op) -> str:
    """What the cut keeps out: the op's inputs where they have names or are what a module returned, else its result."""
    learning = [t for t in op.inputs if analysis.capture.tensors[t].requires_grad] or list(op.inputs)
    given = [called(analysis, t) for t in learning]
    named = [name for name in given if not name.startswith(NAMELESS)]
    return join_names(named, 3) or _returned(analysis, op) or join_names(given, 3) or f"{NAMELESS} `{op.name}`"


def called(analysis: Analysis, tensor: int) -> str:
    """A tensor's name; of one that has none the module that returned it, else the op."""
    record = analysis.capture.tensors[tensor]
    made = analysis.flow.birth(tensor)
    if record.names or record.variable or analysis.storage_name(record.storage):
        return analysis.display_name(tensor)
    if made is None:
        return f"a {analysis.display_name(tensor)} tensor"
    if is_a(made.name, OpKind.DETACHES) and made.inputs:
        return called(analysis, made.inputs[0])
    return _returned(analysis, made) or f"{NAMELESS} `{made.name}`"


NAMELESS = "the result of"


def _returned(analysis: Analysis, op: Op) -> str:
    """The outermost module whose call the op ended, so that it gave the module's output; "" where it ended none."""
    calls, ops, best = analysis.capture.calls, analysis.capture.ops, None
    call = calls[op.call] if op.call >= 0 and not is_a(op.name, OpKind.DETACHES) else None
    later = ops[op.index + 1].call if op.index + 1 < len(ops) else -1
    around = set()
    while later >= 0:
        around.add(later)
        later = calls[later].parent
    while call is not None and call.id not in around:
        best = call
        call = calls[call.parent] if call.parent >= 0 else None
    return f"the output of {_path(analysis, best)}" if best is not None else ""


def _path(analysis: Analysis, call: ModuleCall) -> str:
    model = analysis.capture.models[call.root] if call.root >= 0 else ""
    return ".".join(filter(None, (model, call.path))) or call.type


def outcome(analysis: Analysis, cut: GradientCut) -> str:
    """What was computed: what was written, a named module's output, or the variable that got the result."""
    op = cut.ops[0]
    if op.writes:
        return join_names((analysis.display_name(write.tensor) for write in op.writes), 3)
    tensors = analysis.capture.tensors
    assigned = next((tensors[t].variable for t in reversed(cut.through) if tensors[t].variable), "")
    return _output(analysis, op) or assigned or f"the result of `{op.name}`"


def _output(analysis: Analysis, op: Op) -> str:
    """The outermost module that ran wholly under the grad mode of the op, else the innermost that has a name."""
    if op.call < 0 or is_a(op.name, OpKind.DETACHES):
        return ""
    calls, region = analysis.capture.calls, analysis.capture.regions[op.region]
    call = calls[op.call]
    while call.parent >= 0 and (_within(calls[call.parent], region) or not (call.path or calls[call.parent].site < 0)):
        call = calls[call.parent]
    return f"the output of {_path(analysis, call)}"


def _within(call: ModuleCall, region: Region) -> bool:
    return region.kind != "enabled" and not region.at_entry and call.at >= region.at


def _grad(cut: GradientCut) -> bool:
    return cut.backward.api == "grad"


def _effect(analysis: Analysis, cut: GradientCut) -> str:
    names, many = summarize_names(analysis.display_name(t) for t in cut.parameters), len(cut.parameters) > 1
    if cut.added >= 0:
        return f"this term of the loss is a constant, and {names} learn{'' if many else 's'} nothing from it"
    if not cut.fatal:
        return f"{names} {'get' if many else 'gets'} no gradient"
    return _asked_in_vain(cut, names) if _grad(cut) else _failed(cut, names)


def _asked_in_vain(cut: GradientCut, names: str) -> str:
    if not cut.backward.graph.roots:
        return "the tensor given to torch.autograd.grad does not require grad"
    return f"torch.autograd.grad does not find {names} in the graph"


def _failed(cut: GradientCut, names: str) -> str:
    if not cut.backward.error:
        return f"{names} got no gradient, so its .grad is None"
    what = (
        "what backward() is called on is a plain number"
        if NOT_A_TENSOR in cut.backward.error
        else "the tensor given to backward does not require grad"
    )
    return what + (f" ({names} cannot learn)" if names else "")
