"""What the rules AG101 to AG106 say of a cut: what it keeps out, what that leads to, and where."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import NAMELESS, is_named, name_of, names_of, output_of_layer
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.classifier import Cause, GradientCut
from autograd_inspector.analysis.gradient_cuts.python_scalars import NOT_A_TENSOR
from autograd_inspector.analysis.modules.mode_branches import chosen_by_mode
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.finding import Problem, Severity
from autograd_inspector.model.location import Location, dedupe_locations
from autograd_inspector.model.op import ModuleCall, Op, Region
from autograd_inspector.model.remedy import Remedies
from autograd_inspector.model.rewrites import Unguard
from autograd_inspector.model.torch_errors import TorchError, says
from autograd_inspector.model.wording import agree, join_names, summarize_names

_ON_PURPOSE = "If it is meant to be a constant (a target, a loss weight, an initial value), no change is needed."
_BACKWARD = "passed to backward"


def asked_of(error: str) -> str:
    """What the program did with the tensor that torch refused, in words that follow "the tensor"."""
    if says(error, TorchError.GRADIENT_NOT_KEPT):
        return "on which retain_grad() was called"
    return "on which the hook is registered" if says(error, TorchError.HOOK_REFUSED) else _BACKWARD


def caused_by(analysis: Analysis, *causes: Cause) -> Iterator[GradientCut]:
    """The cuts that matter and have one of these causes."""
    return (cut for cut in analysis.told_cuts if cut.cause in causes)


def cut_problem(
    analysis: Analysis,
    cut: GradientCut,
    message: str,
    fix: str,
    locations: tuple[Location, ...],
    cures: tuple[Remedies, ...] = (),
) -> Problem:
    """A problem with one cut; the effect on what is meant to learn is added to the message."""
    severity: Severity = "error" if cut.fatal else "info" if cut.partial else "warning"
    if cut.kept:
        fix = "Compute it again for each loss: discard the stored value when the parameters change, and when training resumes."
        made = _made(analysis, cut)
        locations = (
            *_readers(analysis, cut),
            *analysis.places(*((op, "kept value computed here") for op in made)),
            *locations,
        )
        cures = tuple((Unguard(place),) for op in made for place in analysis.user_frames(op.site, ""))
    if severity == "info":
        fix = f"{fix} {_ON_PURPOSE}"
    asked = _grad(cut) or asked_of(cut.backward.error) != _BACKWARD
    ends = analysis.user_frames(cut.backward.site, "gradient requested here" if asked else "backward called here")
    if cut.added >= 0:
        ends = (*analysis.user_frames(analysis.capture.ops[cut.added].site, "added to the loss here"), *ends)
    reads = [analysis.looked_for[t].site for t in cut.parameters if t in analysis.looked_for]
    ends = (*ends, *analysis.places(*((site, ".grad read here, None") for site in reads)))
    ends = (*analysis.places(*_hidden(analysis, cut)), *ends)
    names = [name_of(analysis, t) for t in cut.parameters] or [name_of(analysis, t) for t in cut.ops[0].inputs]
    return Problem(
        severity,
        f"{message}: {_effect(analysis, cut)}",
        fix,
        dedupe_locations([*locations, *chosen_by_mode(analysis, cut.ops[0]), *ends]),
        tuple(names),
        ops=tuple(op.index for op in cut.ops[:64]),
        cures=cures,
    )


def _hidden(analysis: Analysis, cut: GradientCut) -> Iterator[tuple[int, str]]:
    """Where the program let backward() run from a loss that has no graph."""
    for change in analysis.capture.requires_grad_changes:
        if change.requires_grad and change.tensor in cut.backward.roots and change.at <= cut.backward.start:
            yield change.site, "requires_grad_() lets backward() run from it without a graph"


def _readers(analysis: Analysis, cut: GradientCut) -> tuple[Location, ...]:
    """Where the last loss read what was kept of it."""
    last = max((at for t in cut.kept for at in analysis.capture.readers[t]), default=-1)
    return analysis.user_frames(analysis.capture.ops[last].site, "used here in each later iteration")


def _made(analysis: Analysis, cut: GradientCut) -> list[Op]:
    """What computed the first value that was kept."""
    return [op for op in map(analysis.flow.birth, cut.kept) if op is not None][:1]


def described(analysis: Analysis, op: Op) -> str:
    """What the cut keeps out: the op's inputs where they have names or are what a module returned, else its result."""
    learning = [t for t in op.inputs if analysis.capture.tensors[t].requires_grad] or list(op.inputs)
    input_names = names_of(analysis, (undetached(analysis, t) for t in learning))
    named = [name for name in input_names if not name.startswith(NAMELESS)]
    return (
        join_names(named, 3) or output_of_layer(analysis, op) or join_names(input_names, 3) or f"{NAMELESS} `{op.name}`"
    )


def undetached(analysis: Analysis, tensor: int) -> int:
    """The tensor that one without a name was detached from."""
    made = None if is_named(analysis, tensor) else analysis.flow.birth(tensor)
    if made is not None and is_a(made.name, OpKind.DETACHES) and made.inputs:
        return undetached(analysis, made.inputs[0])
    return tensor


def outcome(analysis: Analysis, cut: GradientCut) -> str:
    """What was computed: what was written, a named module's output, or the variable that got the result."""
    op = cut.ops[0]
    if op.writes:
        return join_names((name_of(analysis, write.tensor) for write in op.writes), 3)
    tensors = analysis.capture.tensors
    if cut.kept:
        return join_names(names_of(analysis, cut.kept), 3)
    place = kept_at(analysis, cut)
    if place is not None:
        return place.assigned
    assigned = next((tensors[t].variable for t in reversed(cut.through) if tensors[t].variable), "")
    return _output(analysis, op) or assigned or f"the result of `{op.name}`"


def kept_at(analysis: Analysis, cut: GradientCut) -> Location | None:
    """Where an attribute got the value of a loss term: of all that was computed in that mode, only that is read outside."""
    capture, region = analysis.capture, cut.ops[0].region
    if cut.added < 0 or not region:
        return None
    starts = [(t, cut.added) for t in capture.ops[cut.added].inputs if not capture.tensors[t].requires_grad]
    last = next((op for op, _ in analysis.flow.upstream(starts) if op.region == region), None)
    place = capture.place(last.site) if last is not None else None
    return place if place is not None and "." in place.assigned else None


def _output(analysis: Analysis, op: Op) -> str:
    """The outermost module that ran wholly under the grad mode of the op, else the innermost that has a name."""
    if op.call < 0 or is_a(op.name, OpKind.DETACHES):
        return ""
    calls, region = analysis.capture.calls, analysis.capture.regions[op.region]
    call = calls[op.call]
    while call.parent >= 0 and (_within(calls[call.parent], region) or not (call.path or calls[call.parent].site < 0)):
        call = calls[call.parent]
    return f"the output of {analysis.capture.display_names.layer(call)}"


def _within(call: ModuleCall, region: Region) -> bool:
    return region.kind != "enabled" and not region.at_entry and call.at >= region.at


def _grad(cut: GradientCut) -> bool:
    return cut.backward.api == "grad"


def _effect(analysis: Analysis, cut: GradientCut) -> str:
    parameter_names = names_of(analysis, cut.parameters)
    names = summarize_names(parameter_names)
    if cut.added >= 0:
        return f"autograd treats this loss term as a constant, so {names} {agree(parameter_names, 'gets', 'get')} no gradient from it"
    if cut.partial:
        return f"{names} {agree(parameter_names, 'gets', 'get')} gradients from other parts of the loss, but none through this one"
    if cut.kept:
        gets = agree(parameter_names, "gets", "get")
        return f"all later losses use that value, so {names} {gets} no gradient from then on"
    if not cut.fatal:
        return f"{names} {agree(parameter_names, 'gets', 'get')} no gradient"
    return _asked_in_vain(cut, names) if _grad(cut) else _failed(cut, names)


def _asked_in_vain(cut: GradientCut, names: str) -> str:
    if not cut.backward.graph.roots:
        return "the tensor passed to torch.autograd.grad does not require grad"
    return f"torch.autograd.grad does not find {names} in the graph"


def _failed(cut: GradientCut, names: str) -> str:
    if not cut.backward.error:
        return f"{names} got no gradient, so .grad is None"
    what = (
        "backward() is called on a plain number"
        if NOT_A_TENSOR in cut.backward.error
        else f"the tensor {asked_of(cut.backward.error)} does not require grad"
    )
    learns = names and asked_of(cut.backward.error) == _BACKWARD
    return what + (f" ({names} cannot be trained)" if learns else "")
