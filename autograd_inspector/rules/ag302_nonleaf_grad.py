"""AG302: gradients that are not where the program looks for them."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.hand_updates import and_cleared
from autograd_inspector.advice.naming import is_named, name_of, names_of
from autograd_inspector.advice.quoting import ending_in, in_place
from autograd_inspector.advice.receivers import read_of
from autograd_inspector.advice.spelling import assignable, is_path, method_on
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.failed_reads import ended_by
from autograd_inspector.analysis.gradient_cuts.asked_in_vain import ends
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import raising
from autograd_inspector.model.event import GradRead
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op
from autograd_inspector.model.program_events import ParametersRefused, TensorHeld
from autograd_inspector.model.remedy import Insert, Operand, Remedies, Substitute, Unwrap
from autograd_inspector.model.rewrites import FreezeRows
from autograd_inspector.model.torch_errors import TorchError, says
from autograd_inspector.model.wording import summarize_names

_CONVERSIONS = OpKind.CONVERTS | OpKind.COPIES | OpKind.RESHAPES


def check(analysis: Analysis) -> Iterator[Problem]:
    """`.grad` read on a tensor that is not a leaf, or a leaf replaced by a non-leaf (`w = w.to(...)`).

    Why it matters
        Backward stores gradients in leaves only. A weight that became the result of an expression is no longer a
        leaf: its `.grad` stays None, and the program can no longer reach the leaf that does get the gradient.

    Example
        ::

            w = torch.randn(3, 1, requires_grad=True).double()
            (x.double() @ w).pow(2).mean().backward()
            w.grad

    Fix
        ::

            w = torch.randn(3, 1).double().requires_grad_()
            (x.double() @ w).pow(2).mean().backward()
            w.grad

    References
        torch.Tensor.grad, torch.Tensor.is_leaf, torch.Tensor.retain_grad.
    """
    yield from _refused(analysis)
    yield from _flags(analysis)
    reads_by_maker: dict[int, list[GradRead]] = {}
    for read in analysis.capture.grad_reads:
        if not read.leaf and not read.retains_grad and read.gradient < 0 and analysis.capture.site(read.site):
            made = analysis.flow.birth(read.tensor)
            reads_by_maker.setdefault(-1 - read.tensor if made is None else made.site, []).append(read)
    for reads in reads_by_maker.values():
        yield _finding(analysis, reads)


def _finding(analysis: Analysis, reads: list[GradRead]) -> Problem:
    tensors = list(dict.fromkeys(read.tensor for read in reads))
    first = tensors[0]
    name = name_of(analysis, first)
    made = analysis.flow.birth(first)
    by = f"the result of `{made.name}`" if made is not None else "the result of an expression"
    called = next((held.path for held in _stored(analysis, first)), name)
    fix = (
        f"Call {method_on(called, 'retain_grad()')} before backward() to keep the gradient of this intermediate tensor."
    )
    if made is not None and _was_leaf(analysis, first):
        fix = (
            f"Make {name} with its final dtype and device and call requires_grad_() last; update it in place under "
            "torch.no_grad() instead of assigning an expression to it."
            if is_a(made.name, _CONVERSIONS)
            else _made_last(analysis, made)
            or f"Update {name} in place under torch.no_grad(){_in_place(analysis, made, name)}, so that it stays the "
            f"leaf that backward and the optimizer know, and {and_cleared(name)}."
        )
    elif made is not None and _reassigned(analysis, first, made):
        place = analysis.capture.place(made.site)
        again = ending_in(place.source, place.expression, "detach().requires_grad_()") if place is not None else ""
        fix = (
            f"Detach {name} in each iteration, so that it is a leaf again: "
            f"`{again or f'{name} = {name}.detach().requires_grad_()'}`."
        )
    return Problem(
        "error" if any(ended_by(analysis.capture, read) for read in reads) else "warning",
        f".grad of {name} was read, but {name} is not a leaf: it is {by}, so backward leaves its .grad None",
        fix,
        analysis.places(
            (made, "became a non-leaf here"),
            *((held, "stored here, without retain_grad()") for held in _stored(analysis, first)),
            *((read, ".grad read here") for read in reads[:4]),
        ),
        tuple(names_of(analysis, tensors)),
        ops=(made.index,) if made is not None else (),
        cures=(
            *_kept_where_stored(analysis, first),
            *_leaf_again(analysis, tensors[0], made),
            *_cures(analysis, tensors),
            *(cure for read in reads[:1] for cure in _kept_where_made(analysis, read)),
        ),
    )


def _stored(analysis: Analysis, tensor: int) -> list[TensorHeld]:
    """The line that stores it where the program reads it."""
    return [event for event in analysis.capture.events_of(TensorHeld) if event.tensor == tensor][:1]


def _kept_where_stored(analysis: Analysis, tensor: int) -> Iterator[Remedies]:
    """Its gradient is kept from the line on that stores it. A forward without gradients may run that line too."""
    for held in _stored(analysis, tensor):
        kept = f"if {held.path}.requires_grad:\n    {held.path}.retain_grad()"
        places = analysis.user_frames(held.site, "")[:1]
        yield from ((Insert(place, kept, "behind"),) for place in places if place.source.startswith(f"{held.path} = "))


def _kept_where_made(analysis: Analysis, read: GradRead) -> Iterator[Remedies]:
    """Its gradient is kept from the line on that makes it, in the function that reads it by that name."""
    made, place = analysis.flow.birth(read.tensor), analysis.capture.place(read.site)
    name = read_of(place)
    if made is None or place is None or not name:
        return
    for frame in analysis.user_frames(made.site, ""):
        if frame.scope == place.scope and frame.target == name:
            yield (Insert(frame, f"{name}.retain_grad()", "behind"),)
        elif "." in name and frame.assigned.rpartition(".")[2] == name.rpartition(".")[2] != frame.assigned:
            # By another name for the same object. A forward without gradients may run that line too.
            kept = frame.assigned
            yield (Insert(frame, f"if {kept}.requires_grad:\n    {kept}.retain_grad()", "behind"),)


def _leaf_again(analysis: Analysis, tensor: int, made: Op | None) -> Iterator[Remedies]:
    """The line whose result becomes the leaf."""
    place = analysis.capture.place(made.site) if made is not None else None
    if made is None or place is None:
        return
    if not _was_leaf(analysis, tensor) and _reassigned(analysis, tensor, made):
        yield (Substitute(place, "", "{}.detach().requires_grad_()"),)
    elif _was_leaf(analysis, tensor) and not is_a(made.name, _CONVERSIONS):
        whole = ending_in(place.source, place.expression, "requires_grad_()", without="requires_grad")
        if whole and _made_last(analysis, made):
            yield (Substitute(place, "", whole.partition(" = ")[2]),)


def _cures(analysis: Analysis, tensors: list[int]) -> Iterator[Remedies]:
    """Their gradients are kept: before the last backward that they took part in."""
    names = [analysis.capture.tensors[tensor].variable for tensor in tensors]
    runs = analysis.capture.completed_runs
    place = analysis.capture.place(runs[0].site) if runs else None
    if place is not None and all(assignable(name, analysis, t) for name, t in zip(names, tensors, strict=True)):
        yield tuple(Insert(place, f"{name}.retain_grad()") for name in dict.fromkeys(names))


def _made_last(analysis: Analysis, made: Op) -> str:
    """Where one line makes the leaf and computes with it: the line as it should be."""
    place = analysis.capture.place(made.site)
    births = [analysis.flow.birth(t) for t in made.inputs if analysis.capture.tensors[t].leaf]
    places = [analysis.capture.place(op.site) for op in births if op is not None]
    if place is None or not any(p is not None and p.line == place.line for p in places):
        return ""
    whole = ending_in(place.source, place.expression, "requires_grad_()", without="requires_grad")
    return f"Call requires_grad_() last, on the tensor that the line computes: `{whole}`." if whole else ""


def _reassigned(analysis: Analysis, tensor: int, made: Op) -> bool:
    """Whether a leaf that no optimizer holds had the same name before: ``x = f(x)`` in a loop."""
    capture, name = analysis.capture, name_of(analysis, tensor)
    if not capture.tensors[tensor].variable or capture.tensors[tensor].names:
        return False
    above = analysis.flow.upstream([(tensor, made.index + 1)], lambda op, t: capture.tensors[t].requires_grad)
    inputs = dict.fromkeys(t for op, _ in above for t in op.inputs if t != tensor)
    leaves = [t for t in inputs if capture.tensors[t].leaf and capture.tensors[t].requires_grad]
    return any(capture.tensors[t].variable == name and t not in capture.optimized for t in leaves)


def _in_place(analysis: Analysis, made: Op, name: str) -> str:
    place = analysis.capture.place(made.site)
    code = in_place(place.source) if place is not None else ""
    if not code and is_path(name):
        code = f"{name}.mul_(...)"
    return f" (`{code}`)" if code else ""


def _was_leaf(analysis: Analysis, tensor: int) -> bool:
    """Whether the tensor is the result of an expression in one leaf alone, shaped like it: that leaf, rewritten.

    A leaf that keeps a name of its own (``h = w * 2``) is still there.
    """
    made = analysis.flow.birth(tensor)
    if made is None or made.call >= 0:
        return False
    tensors = analysis.capture.tensors
    tracked_inputs = [tensors[t] for t in made.inputs if tensors[t].requires_grad]
    if len(tracked_inputs) != 1 or not tracked_inputs[0].leaf or tracked_inputs[0].shape != tensors[tensor].shape:
        return False
    return not is_named(analysis, tracked_inputs[0].id) or name_of(analysis, tracked_inputs[0].id) == name_of(
        analysis, tensor
    )


def _refused(analysis: Analysis) -> Iterator[Problem]:
    """An optimizer was given something that is no leaf."""
    for refusal in (
        analysis.capture.events_of(ParametersRefused)
        if says(analysis.capture.error, TorchError.NON_LEAF_OPTIMIZED)
        else ()
    ):
        names = [name_of(analysis, t) for t in refusal.tensors]
        births = [op for op in map(analysis.flow.birth, refusal.tensors) if op is not None]
        what = f"the result of `{births[0].name}`" if births else "the result of an expression"
        yield Problem(
            "error",
            f"{refusal.api} was given {summarize_names(names)}, which is not a leaf but {what}: backward stores no gradient there",
            "Give the optimizer the model's parameters themselves, not copies of them."
            if _copies_of_a_model(analysis, births)
            else "Make the tensor with its final dtype and device, call requires_grad_() (or nn.Parameter) last, and give that "
            "to the optimizer.",
            analysis.places(
                *((op, "became a non-leaf here") for op in births[:4]), (refusal, "given to the optimizer here")
            ),
            tuple(names),
            cures=tuple(_leaves(analysis, births)),
        )


def _flags(analysis: Analysis) -> Iterator[Problem]:
    """requires_grad, or a hook that only a leaf can have, was set on the result of an expression."""
    for op in raising(analysis.capture):
        if not (op.error and op.inputs and says(op.error, TorchError.FLAGS_OF_NON_LEAF) and ends(analysis.capture, op)):
            continue
        name, made = name_of(analysis, op.inputs[0]), analysis.flow.birth(op.inputs[0])
        what = f"the result of `{made.name}`" if made is not None else "the result of an expression"
        yield Problem(
            "error",
            f"`{op.name}` was refused for {name}, which is not a leaf but {what}: it requires grad because its inputs do",
            f"Use `{method_on(name, 'detach()')}` if no gradient should flow back; to freeze parameters, set requires_grad of the parameters themselves."
            if "hook" not in op.name
            else f"Register the hook on the leaf that {name} is computed from, or use register_hook().",
            analysis.places((made, "became a non-leaf here"), (op, "refused here")),
            (name,),
            ops=(op.index,),
            cures=tuple(_without_history(analysis, op, name)),
        )


def _leaves(analysis: Analysis, births: list[Op]) -> Iterator[Remedies]:
    """Each of them is a leaf with the values that its line computes; of copies of a model, what was copied."""
    places = [analysis.capture.place(op.site) for op in births]
    known = dict.fromkeys(place for place in places if place is not None)
    if known and _copies_of_a_model(analysis, births):
        yield tuple(Unwrap(place, births[0].name) for place in known)
    elif known and None not in places:
        yield tuple(Operand(place, "whole", "{}.detach().requires_grad_()") for place in known)


def _copies_of_a_model(analysis: Analysis, births: list[Op]) -> bool:
    """Whether all are copies of parameters of a model, which goes on computing with its own."""
    tensors = analysis.capture.tensors
    return bool(births) and all(
        is_a(op.name, OpKind.COPIES) and any(tensors[t].leaf and tensors[t].of_model for t in op.inputs)
        for op in births
    )


def _without_history(analysis: Analysis, op: Op, name: str) -> Iterator[Remedies]:
    """What was to be frozen is a tensor without history."""
    place = analysis.capture.place(op.site)
    if place is not None and "hook" not in op.name:
        yield (FreezeRows(place),)
    if place is not None and "hook" not in op.name and is_path(name):
        yield (Operand(place, "whole", f"{name} = {name}.detach()"),)
