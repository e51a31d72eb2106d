"""AG105: values that left autograd and came back without their history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from autograd_inspector.advice.cut_problems import caused_by, cut_problem, undetached
from autograd_inspector.advice.kept_tensors import kept_as, kept_by, kept_places
from autograd_inspector.advice.naming import NAMELESS, name_of
from autograd_inspector.advice.remedies.cuts import attached
from autograd_inspector.advice.spelling import is_path
from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.gradient_cuts.asked_in_vain import ends
from autograd_inspector.analysis.gradient_cuts.classifier import GradientCut, differentiable
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
    for cut in _by_line(analysis, caused_by(analysis, "left autograd", "collective")):
        op = _way_out(analysis, cut.ops[0])
        taken = _taken_out(analysis, op)
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
        yield from ((KeepOwnPart(place),) for place in analysis.user_frames(op.site, "")[:1])
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
        before = _detached_before(analysis, op, *taken)
        yield from attached(analysis, [op, *taken, *before]) if before else ()
        yield from attached(analysis, [op, *taken])


def _detached_before(analysis: Analysis, *ops: Op) -> list[Op]:
    """Where what left autograd had been cut off by a line before: both go, or the one would only bring the other up."""
    found: list[Op] = []
    todo = [tensor for op in ops for tensor in op.inputs]
    for tensor in todo:  # It grows on the way.
        made = analysis.flow.birth(tensor)
        if made is None or made in (*ops, *found):
            continue
        if is_a(made.name, OpKind.DETACHES) and any(analysis.capture.tensors[t].requires_grad for t in made.inputs):
            found.append(made)
        elif is_a(made.name, OpKind.VIEWS):
            todo += made.inputs[:1]
    return found


def _by_line(analysis: Analysis, cuts: Iterable[GradientCut]) -> Iterator[GradientCut]:
    """Of one line that takes several values out, and brings them back perhaps, one record."""
    cut_of_line: dict[tuple[str, int, int], GradientCut] = {}
    for cut in cuts:
        key = (*_line(analysis, cut.ops[0]), cut.added)
        one = cut_of_line.setdefault(key, cut)
        if one is not cut:
            parameters = tuple(dict.fromkeys((*one.parameters, *cut.parameters)))
            ops, fatal = (*one.ops, *cut.ops), one.fatal or cut.fatal
            cut_of_line[key] = replace(one, ops=ops, parameters=parameters, fatal=fatal)
    yield from cut_of_line.values()


def _way_out(analysis: Analysis, op: Op) -> Op:
    """Of ``x.detach().numpy()`` the second part."""
    if not is_a(op.name, OpKind.DETACHES):
        return op
    later = analysis.capture.ops[op.index + 1 :]
    return next((o for o in later if is_a(o.name, OpKind.EXTRACTS) and set(o.inputs) & set(op.outputs)), op)


def _taken_out(analysis: Analysis, op: Op) -> list[Op]:
    """The op that took the value out of torch before this one brought it back."""
    out = [
        o for o in analysis.capture.ops[: op.index] if is_a(o.name, OpKind.EXTRACTS) and set(o.inputs) & set(op.inputs)
    ]
    return out[-1:]


def _spelled(op: Op) -> str:
    call = spelled(op.name)
    return f"`{call}`" if call.endswith("()") else call


def _named_sources(analysis: Analysis, cut: GradientCut) -> str:
    """What the line took the values of."""
    ops = [o for o in cut.ops if _line(analysis, o) == _line(analysis, cut.ops[0])]
    filled = {write.tensor for o in ops for write in o.writes if o.has(Trait.COLLECTIVE)}
    source_names = [name_of(analysis, undetached(analysis, t)) for o in ops for t in o.inputs if t not in filled]
    named = [name for name in source_names if not name.startswith(NAMELESS)]
    return join_names(named or source_names, 3)


def _line(analysis: Analysis, op: Op) -> tuple[str, int]:
    return line_of(analysis, op.site) or ("", op.site)


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
            cures=tuple((Operand(place, "first", "{}.detach()"),) for place in analysis.user_frames(op.site, "")[:1]),
        )
