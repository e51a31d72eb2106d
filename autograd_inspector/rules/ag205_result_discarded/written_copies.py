"""AG205 where a copy is written, and nothing reads it afterwards."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.callers import called_on
from autograd_inspector.analysis.memory.copies_for_views import copies_for_views
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op
from autograd_inspector.model.program_events import ResultDiscarded
from autograd_inspector.model.remedy import OutOfPlace, Remedies, Substitute, TakeOff
from autograd_inspector.model.wording import agree, summarize_names


def written_in_vain(analysis: Analysis, event: ResultDiscarded, *, sharded: bool) -> Problem:
    """What the copy was made of tells what was to be changed."""
    if event.of == "values":
        return _lost_copy(analysis, event)
    if event.of == "gradients":
        return _lost_gradients(analysis, event)
    return (_lost_gathered if sharded else _lost)(analysis, event)


def _lost(analysis: Analysis, event: ResultDiscarded) -> Problem:
    names, only = names_of(analysis, event.tensors), is_a(event.name, OpKind.IN_PLACE_ONLY)
    return Problem(
        # Random numbers are lost, and the parameters begin with others.
        "info" if is_a(event.name, OpKind.FILLS_RANDOMLY) else "warning",
        f"`{event.name}` writes into a tensor that this line has just computed from {summarize_names(names)}, and nothing "
        f"reads it afterwards: {agree(names, 'the parameter keeps its value', 'the parameters keep their values')}",
        "Assign the new values to the attribute, under torch.no_grad(): `module.weight = new_values` (a parametrization "
        "then computes its own parameters from them), or initialize before the parametrization is registered.",
        analysis.places((event, "written and lost here"), (_copied(analysis, event), "computed here")),
        tuple(names),
        ops=(event.at,),
        cures=tuple(
            (OutOfPlace(place, only, 0),)
            for place in analysis.user_frames(event.site, "")[:1]
            if not _writes_parameters_too(analysis, event)
        ),
    )


def into_copies_for_views(analysis: Analysis) -> Iterator[Problem]:
    """What is changed in a copy of a parameter that the program took for a view of it."""
    for found in copies_for_views(analysis):
        names = names_of(analysis, [found.parameter])
        yield Problem(
            "warning",
            f"`{found.taken.name}` returns a copy of {names[0]}, whose memory it cannot show in this shape, and "
            f"`{found.written.name}` writes into the copy: nothing reads it, and the parameter keeps its value",
            "Write into the parameter itself, under torch.no_grad(): `p[i, j] = value`, or `p.copy_(new_values)`. If it "
            "has to be a view, use `p.view(-1)`, which raises an error instead of copying.",
            analysis.places((found.taken, "copied here"), (found.written, "written and lost here")),
            tuple(names),
            ops=(found.written.index,),
        )


def _lost_copy(analysis: Analysis, event: ResultDiscarded) -> Problem:
    """A copy of a buffer that the statement makes, writes and drops."""
    names, op = names_of(analysis, event.tensors), analysis.capture.ops[event.at]
    made = [analysis.capture.ops[birth] for w in op.writes if (birth := analysis.capture.tensors[w.tensor].birth) >= 0]
    call = f"{made[0].name}()" if made else "a copy"
    return Problem(
        "warning",
        f"`{event.name}` writes into a new tensor that this statement has computed from {summarize_names(names)} and drops: "
        f"{agree(names, 'the buffer keeps its value', 'the buffers keep their values')}",
        f"Write into the buffer itself, without `{call}`.",
        analysis.user_frames(event.site, "written and lost here"),
        tuple(names),
        ops=(event.at,),
        cures=tuple(_into_the_buffer(analysis, made[0])) if made else (),
    )


def _lost_gradients(analysis: Analysis, event: ResultDiscarded) -> Problem:
    """A copy of gradients that is changed, and never copied back."""
    names = names_of(analysis, event.tensors)
    return Problem(
        "warning",
        f"`{event.name}` changes a copy of the {agree(names, 'gradient', 'gradients')} of {summarize_names(names)}, and nothing "
        f"reads the copy afterwards: step() takes the {agree(names, 'gradient as it is', 'gradients as they are')}",
        "Copy the new values back before step(): `p.grad.copy_(new_value)`, for each parameter its part of the copy.",
        analysis.places((event, "copy changed here, without effect"), (_copied(analysis, event), "copied here")),
        tuple(names),
        ops=(event.at,),
    )


def _copied(analysis: Analysis, event: ResultDiscarded) -> Op | None:
    """What made the copy."""
    births = [analysis.capture.tensors[write.tensor].birth for write in analysis.capture.ops[event.at].writes]
    return next((analysis.capture.ops[birth] for birth in births if birth >= 0), None)


def _into_the_buffer(analysis: Analysis, made: Op) -> Iterator[Remedies]:
    """What the copy was taken of, in its place."""
    for place in analysis.user_frames(made.site, "")[:1] if is_a(made.name, OpKind.COPIES) else ():
        receiver = called_on(place, made.name)
        if receiver:
            yield (Substitute(place, place.expression, receiver),)


def _writes_parameters_too(analysis: Analysis, event: ResultDiscarded) -> bool:
    """Whether the line writes into parameters of other modules, which take no assignment of a tensor."""
    capture = analysis.capture
    lost = {each.at for each in capture.events_of(ResultDiscarded) if each.written}
    line = line_of(analysis, event.site)
    return any(
        any(capture.tensors[write.tensor].kind == "parameter" for write in op.writes)
        and op.index not in lost
        and line_of(analysis, op.site) == line
        for op in capture.ops
        if op.name == event.name
    )


def _lost_gathered(analysis: Analysis, event: ResultDiscarded) -> Problem:
    """The copy that was gathered of a DTensor is written, and nothing of it comes back to the shards."""
    names, op = names_of(analysis, event.tensors), analysis.capture.ops[event.at]
    made = [analysis.capture.tensors[write.tensor].birth for write in op.writes]
    gathered = [analysis.capture.ops[birth].site for birth in made if birth >= 0]
    return Problem(
        "warning",
        f"`{event.name}` writes into a copy that was gathered of {summarize_names(names)}, and nothing reads it "
        f"afterwards: {agree(names, 'the parameter is a DTensor, and its shards keep', 'the parameters are DTensors, and their shards keep')} "
        "their values",
        "Write to the DTensor itself, under torch.no_grad(): `p.clamp_(...)` instead of `p.full_tensor().clamp_(...)`. "
        "Each rank then writes its shard.",
        analysis.user_frames(event.site, "written and lost here"),
        tuple(names),
        ops=(event.at,),
        cures=tuple((TakeOff(place),) for site in gathered[:1] for place in analysis.user_frames(site, "")[:1]),
    )
