"""AG105: values that left autograd and came back without their history."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.cut_problems import caused_by, cut_problem, undetached
from autograd_inspector.advice.kept_tensors import kept_as, kept_by, kept_places
from autograd_inspector.advice.naming import NAMELESS, name_of
from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.advice.remedies.cuts import attached
from autograd_inspector.advice.spelling import is_path
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.asked_in_vain import ends
from autograd_inspector.analysis.gradient_cuts.classifier import GradientCut, differentiable
from autograd_inspector.analysis.gradients.left_torch import (
    cuts_by_line,
    detached_before,
    line_or_site,
    taken_out,
    way_out,
)
from autograd_inspector.analysis.op_kinds import OpKind, followed, is_a, spelled
from autograd_inspector.analysis.ops_of import raising
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import Communicated
from autograd_inspector.model.remedy import KeepOwnPart, Operand, Remedies, TakeOff
from autograd_inspector.model.torch_errors import TorchError, says
from autograd_inspector.model.wording import join_names


def check(analysis: Analysis) -> Iterator[Problem]:
    """The value went to Python, NumPy, pickle or another process and came back, or was rewrapped by `torch.tensor`.

    Why it matters
        `torch.tensor(loss)`, `loss.item()`, `.numpy()` and collectives copy the value without the graph. With
        `requires_grad=True` on the copy, backward runs, but on a graph of one node. NumPy refuses a tensor that still
        has its graph.

    Example
        ::

            loss = net(x).pow(2).mean()
            loss = torch.tensor(loss.item(), requires_grad=True)
            loss.backward()
            optimizer.step()

    Fix
        ::

            loss = net(x).pow(2).mean()
            loss.backward()
            optimizer.step()

    References
        torch.tensor (it always copies); torch.Tensor.item; torch.distributed.nn for collectives with gradient.
    """
    yield from _refused(analysis)
    yield from _not_gathered(analysis)
    for cut in cuts_by_line(analysis, caused_by(analysis, "left autograd", "collective")):
        op = way_out(analysis, cut.ops[0])
        taken = taken_out(analysis, op)
        left = is_a(op.name, OpKind.EXTRACTS)
        way = " and ".join([*(_spelled(o) for o in ([] if left else taken)), _spelled(op)])
        what = _named_sources(analysis, cut)
        yield cut_problem(
            analysis,
            cut,
            f"{way} turned {what} into plain Python or NumPy values, so gradients cannot flow through it"
            if left
            else f"{way} made a copy of {what} without its graph",
            _rewrap_fix(cut.ops[0], what),
            analysis.places(
                (op, "left torch here" if left else "rewrapped here"), *((o, "left torch here") for o in taken)
            ),
            tuple(_cures(analysis, op, taken)),
        )


def _cures(analysis: Analysis, op: Op, taken: list[Op]) -> Iterator[Remedies]:
    """The value itself, where all that lies between is a copy of it; a list of tensors is joined."""
    tensors = analysis.capture.tensors
    if op.name == "all_gather":
        yield from at_line(analysis, op.site, KeepOwnPart)
    shapes = {tensors[t].shape for o in (op, *taken) for t in (*o.inputs, *o.outputs)}
    if op.has(Trait.COLLECTIVE) or not all(differentiable(tensors[t].dtype) for t in op.outputs):
        return
    items = {tensors[t].shape for t in op.inputs}
    place = analysis.capture.place(op.site)
    listed = is_a(op.name, OpKind.REWRAPS) and [tensors[t].shape for t in op.outputs] == [(len(op.inputs),)]
    if listed and items in ({()}, {(1,)}) and shapes - items:
        if place is not None:
            yield (TakeOff(place, "torch.stack({})" if items == {()} else "torch.cat({})"),)
    elif op.name == "tensor" and items == {()} and any(1 <= len(tensors[t].shape) <= 2 for t in op.outputs):
        if place is not None:
            yield (TakeOff(place, shown=True),)
    elif len(shapes) == 1:
        before = detached_before(analysis, op, *taken)
        yield from attached(analysis, [op, *taken, *before]) if before else ()
        yield from attached(analysis, [op, *taken])


def _spelled(op: Op) -> str:
    call = spelled(op.name)
    return f"`{call}`" if call.endswith("()") else call


def _named_sources(analysis: Analysis, cut: GradientCut) -> str:
    """What the line took the values of."""
    ops = [o for o in cut.ops if line_or_site(analysis, o) == line_or_site(analysis, cut.ops[0])]
    filled = {write.tensor for o in ops for write in o.writes if o.has(Trait.COLLECTIVE)}
    source_names = [name_of(analysis, undetached(analysis, t)) for o in ops for t in o.inputs if t not in filled]
    named = [name for name in source_names if not name.startswith(NAMELESS)]
    return join_names(named or source_names, 3)


def _rewrap_fix(op: Op, source: str) -> str:
    if op.has(Trait.COLLECTIVE) and not is_a(op.name, OpKind.POINT_TO_POINT | OpKind.SENDS_OBJECTS):
        instead = f"Use torch.distributed.nn.functional.{followed(op.name)}, which has a gradient"
        if not op.name.startswith("all_gather"):
            return f"{instead}."
        return f"{instead}, or replace this rank's entry of the gathered list with the local tensor."
    if is_a(op.name, OpKind.UNPICKLES):
        return f"Use {source} itself: pickling (torch.save, multiprocessing) keeps values but not the graph."
    return f"Use {source} itself: no torch.tensor(), item() or NumPy between the model and backward()."


def _not_gathered(analysis: Analysis) -> Iterator[Problem]:
    """A collective that writes to views of what it was given, and was refused that: autograd records where it does."""
    capture = analysis.capture
    if not says(capture.error, TorchError.VIEW_MADE_IN_NO_GRAD):
        return
    failed = [event for event in capture.events_of(Communicated) if event.failed]
    if not failed or capture.place(failed[-1].site) != capture.place(capture.error_site):
        return
    call = failed[-1].name
    yield Problem(
        "error",
        f"{call} got a tensor that requires grad. It has no gradient, and fails where autograd records what it writes",
        f"Use torch.distributed.nn.functional.{followed(call)}, which has a gradient. If the values should be constants, give it "
        "`x.detach()`.",
        analysis.places((failed[-1], f"{call} called here")),
        (call,),
    )


def _refused(analysis: Analysis) -> Iterator[Problem]:
    """NumPy was asked for the values of a tensor that still has its graph: the program ended because of it."""
    for op in raising(analysis.capture):
        if not (op.error and op.inputs and says(op.error, TorchError.NUMPY_OF_TRACKED) and ends(analysis.capture, op)):
            continue
        tensor = op.inputs[0]
        name, made, held = name_of(analysis, tensor), analysis.flow.birth(tensor), kept_by(analysis, tensor)
        yield Problem(
            "error",
            f"NumPy cannot take {name}{kept_as(held, name) or ','} which requires grad: it was computed with grad mode on",
            f"Compute it under `with torch.no_grad():` if nothing trains with it, or take `{name}.detach().numpy()`."
            if is_path(name)
            else "Compute it under `with torch.no_grad():` if nothing trains with it, or call detach() before numpy().",
            (
                *kept_places(analysis, held),
                *analysis.places((made, "computed with its graph here"), (op, "refused here")),
            ),
            (name,),
            ops=(op.index,),
            cures=at_line(analysis, op.site, lambda place: Operand(place, "first", "{}.detach()")),
        )
