"""AG305 where a step finds no gradients because backward() was never called on the loss that was made for it."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.protocol import backward_called, backward_in_closure
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.idle_statements import idle_here
from autograd_inspector.analysis.losses.never_differentiated import finds_nothing, waited
from autograd_inspector.analysis.losses_without_backward import losses, read_out
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op
from autograd_inspector.model.remedy import Remedies
from autograd_inspector.model.rewrites import ReturnAtEnd
from autograd_inspector.model.wording import agree, summarize_names


def never_called(
    analysis: Analysis, step: Step, since: int, last: Backward | None, trainable: set[int]
) -> Problem | None:
    """The finding about a step that a backward is missing before; ``last``: the last one ``since`` the step before."""
    loss = next((analysis.losses_without_backward[t] for t in trainable if t in analysis.losses_without_backward), None)
    if loss is None or not finds_nothing(analysis, step, last):
        reached = analysis.received_gradient.intersection(trainable) if analysis.capture.backwards else ()
        if any(p.gradient >= 0 for p in step.parameters) or reached or not waited(analysis, trainable):
            return None
        start = step.start if step.computed else since + 1
        candidates = losses(analysis.capture, trainable, start, step.at)
        loss = max(candidates, key=lambda op: (not read_out(analysis.capture, op), op.index), default=None)
    return _finding(analysis, step, loss)


def _finding(analysis: Analysis, step: Step, loss: Op | None) -> Problem:
    names = names_of(analysis, (p.tensor for p in step.parameters))
    why, fix = "step() ran without a backward()", f"Call {_called(analysis, loss)}.backward() before optimizer.step()."
    asked = _asked_by_library(analysis, step, loss) if step.computed else ""
    if step.computed:
        why = "the closure that step() runs never calls backward()"
        fix = f"Call {_called(analysis, loss)}.backward() inside the closure, before it returns the loss."
        if asked:
            why = f"the library that calls step() calls backward() on what {asked} returns, and got no loss from it"
            fix = f"Return {_called(analysis, loss)} from {asked}."
    elif analysis.capture.backwards:
        why = f"backward() was never called on what {summarize_names(names)} {agree(names, 'was', 'were')} used for"
        if loss is not None and not analysis.received_gradient.isdisjoint(p.tensor for p in step.parameters):
            why = f"the gradients of another loss are cleared, and backward() is not called on this step's own {_called(analysis, loss)}"
    uncalled = idle_here(analysis, (step.site,), "backward")
    return Problem(
        "warning",
        f"{why}: {summarize_names(names)} {agree(names, 'has', 'have')} no gradient and {agree(names, 'does', 'do')} not move",
        fix,
        analysis.places(
            *((each, "backward is not called here") for each in uncalled),
            (step, "step() without gradients"),
            (loss, "no backward() from this loss"),
            (_last_use(analysis, step) if loss is None else None, "used here, and no backward() starts from it"),
        ),
        tuple(names),
        ops=(step.op,),
        cures=tuple(
            (_returned(analysis, loss) if asked else backward_in_closure(analysis, loss))
            if step.computed
            else backward_called(analysis, step, _called(analysis, loss), loss)
        ),
    )


def _last_use(analysis: Analysis, step: Step) -> Op | None:
    """The last op before a step that computed with what it holds, where the program called no loss by name."""
    capture = analysis.capture
    readers = (index for p in step.parameters for index in capture.readers.get(p.tensor, ()) if index < step.at)
    used = [capture.ops[index] for index in readers if capture.ops[index].recorded]
    return max(used, key=lambda op: op.index, default=None)


def _asked_by_library(analysis: Analysis, step: Step, loss: Op | None) -> str:
    """The program's function that a library called for the loss, where the step and its closure are the library's."""
    stepping = analysis.capture.site(step.site)
    if loss is None or not stepping or not stepping[0].library:
        return ""
    outside = {(frame.filename, frame.lineno) for frame in stepping if not frame.library}
    inside = [
        frame
        for frame in analysis.capture.site(loss.site)
        if not frame.library and (frame.filename, frame.lineno) not in outside
    ]
    return f"`{inside[-1].function}`" if inside else ""


def _returned(analysis: Analysis, loss: Op | None) -> Iterator[Remedies]:
    """The function that computed the loss returns it."""
    place = analysis.capture.place(loss.site) if loss is not None else None
    if place is not None:
        yield (ReturnAtEnd(place, _called(analysis, loss)),)


def _called(analysis: Analysis, loss: Op | None) -> str:
    """The program's variable for the loss."""
    variables = (analysis.capture.tensors[tensor].variable for tensor in (() if loss is None else loss.outputs))
    return next((name for name in variables if name.isidentifier()), "loss")
