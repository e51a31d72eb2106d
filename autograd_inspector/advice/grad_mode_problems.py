"""What AG102 and AG103 say of what was computed while grad mode was off, or under inference mode."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from autograd_inspector.advice.cut_problems import cut_problem, kept_at, outcome
from autograd_inspector.advice.hand_updates import and_cleared
from autograd_inspector.advice.lightning_modes import entered_by_trainer, trainer_made, without_inference_mode
from autograd_inspector.advice.names import short_name
from autograd_inspector.advice.naming import name_of, names_of
from autograd_inspector.advice.quoting import in_place
from autograd_inspector.advice.remedies.cuts import recorded
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.callers import callee, flag_against
from autograd_inspector.analysis.gradient_cuts.classifier import GradientCut
from autograd_inspector.analysis.gradient_cuts.handed_over import handed_over
from autograd_inspector.analysis.gradient_cuts.left_on_the_way import LeftOn
from autograd_inspector.analysis.gradient_cuts.reopened import freed_too_early
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location, dedupe_locations
from autograd_inspector.model.op import Op, Region
from autograd_inspector.model.remedy import Remedies, SetArgument, WriteInto
from autograd_inspector.model.wording import agree, summarize_names
from autograd_inspector.source.fragments import uncommented

_AGAIN = (
    "Recompute it before each backward(), with grad enabled: what was computed without grad has no graph, and a graph "
    "can be used only once."
)


def region_problem(analysis: Analysis, cut: GradientCut, region: Region) -> Problem:
    """A problem with what was computed in one region of grad mode."""
    op = cut.ops[0]
    why, fix, first = _switch(analysis, cut, region)
    if freed_too_early(analysis.capture, analysis.flow, cut.ops):
        # One graph for all losses would be freed by the first of them.
        fix = _AGAIN
    fix = _updated(analysis, op) or fix
    place = kept_at(analysis, cut)
    kept = [] if place is None else [replace(place, role="value kept here")]
    return cut_problem(
        analysis,
        cut,
        f"{outcome(analysis, cut)} was {'updated' if op.writes else 'computed'} while {why}",
        fix,
        dedupe_locations(
            [*first, *kept, *analysis.user_frames(op.site, "computed here"), *_handed_over(analysis, cut)]
        ),
        (*_told(analysis, region), *_written_in_place(analysis, op), *recorded(analysis, cut, region)),
    )


def _handed_over(analysis: Analysis, cut: GradientCut) -> tuple[Location, ...]:
    """Where the loss takes it in; what is written, and what is kept for all later losses, is told otherwise."""
    if cut.ops[0].writes or cut.kept or cut.added >= 0:
        return ()
    taken = handed_over(analysis.capture, analysis.flow, cut.ops, cut.backward)
    return analysis.places((taken, "the loss is computed from it here"))


def still_on(analysis: Analysis, found: LeftOn) -> Problem:
    """A problem with losses that were to train something, and that backward() was not called on."""
    api = "torch.inference_mode()" if found.region.kind == "inference_mode" else "torch.no_grad()"
    names, function = names_of(analysis, found.tensors), short_name(found.place.function)
    return Problem(
        "warning",
        f"{summarize_names(names)} {agree(names, 'is', 'are')} used while {api} of `{function}` is still active: "
        f"{agree(names, 'it gets', 'they get')} no gradient, although {found.cleared.api} was called before",
        _must_leave(function, api),
        analysis.places(
            (found.last, f"`{function}` does not leave the block here"),
            (found.region, "grad mode disabled here"),
            (found.used, "used here, without a graph"),
            (found.cleared, "gradients cleared here"),
        ),
        tuple(names),
        ops=(found.used.index,),
    )


def _must_leave(function: str, api: str) -> str:
    return (
        f"`{function}` must leave its `{api}` block first: a generator that yields inside the block does not leave it."
    )


def _told(analysis: Analysis, region: Region) -> Iterator[Remedies]:
    """A library's function is told to leave grad mode on."""
    frames = analysis.capture.site(region.site)
    place = analysis.capture.place(region.site)
    flag = flag_against(frames) if place is not None and not place.library else ""
    if place is not None and flag:
        yield (SetArgument(place, callee(place).rpartition(".")[2], flag, "True"),)


def _written_in_place(analysis: Analysis, op: Op) -> Iterator[Remedies]:
    """The leaf itself gets the values, and its gradient goes: the next backward() would add to it."""
    place = analysis.capture.place(op.site)
    if place is not None and _updated(analysis, op):
        yield (WriteInto(place, recorded=False, behind="{}.grad = None"),)


def switched_at(analysis: Analysis, region: Region, role: str) -> tuple[Location, ...]:
    """Where a mode was entered: the decorator and the call of the function under it, else the line of the switch."""
    if region.definition < 0:
        return analysis.user_frames(region.site, role)
    definition = analysis.user_frames(
        region.definition, "decorator" if not region.wrapped else f"{region.wrapped} here"
    )
    return (*definition, *analysis.user_frames(region.site, "called here"))


def _updated(analysis: Analysis, op: Op) -> str:
    """What to do about a leaf's update by hand that made another tensor of it (`w = w - lr * w.grad`)."""
    place, tensors = analysis.capture.place(op.site), analysis.capture.tensors
    shapes = [tensors[t].shape for t in op.outputs]
    leaves = [t for t in op.inputs if tensors[t].leaf and tensors[t].requires_grad and [tensors[t].shape] == shapes]
    instead = in_place(place.source) if place is not None and leaves and not op.writes else ""
    name = name_of(analysis, leaves[0]) if instead else ""
    return (
        instead and f"Update in place: `{instead}`, so that {name} remains the trained leaf, and {and_cleared(name)}."
    )


def _switch(analysis: Analysis, cut: GradientCut, region: Region) -> tuple[str, str, tuple[Location, ...]]:
    """(why autograd was off, what to do about it, where it was switched off)."""
    inference = region.kind == "inference_mode"
    api = "torch.inference_mode()" if inference else "torch.no_grad()"
    if region.at_entry:
        mode = "inference mode was already enabled" if inference else "grad mode was already disabled"
        fix = "Call torch.set_grad_enabled(True) first, and disable grad mode only with `with torch.no_grad():`."
        return f"{mode} when the capture began", fix, ()
    if region.decorated:
        return _decorated(analysis, region, api, cut.ops[0])
    first = analysis.user_frames(region.site, "inference mode entered here" if inference else "grad mode disabled here")
    fix = f"Move the computation out of the `{api}` block."
    place = analysis.capture.place(region.site)
    block = place is not None and place.block_end > 0
    if region.api.startswith("torch.set_grad_enabled"):
        api = "torch.set_grad_enabled(False)"
        fix = (
            "Make the condition passed to set_grad_enabled true for training."
            if block
            else "Use `with torch.no_grad():` around the code that needs it; a call of set_grad_enabled(False) stays in effect."
        )
        first = (*first, *_condition(analysis, region))
    frames = {frame.function for frame in analysis.capture.site(cut.ops[0].site)}
    by_library = any(frame.library for frame in analysis.capture.site(region.site)[:1])
    called = callee(place) if by_library and place is not None and not place.library else ""
    if called and entered_by_trainer(analysis, region):
        where = (*first, *trainer_made(analysis, region))
        return f"{api} of `{called}()` was active", without_inference_mode(called), where
    if called:
        flag = flag_against(analysis.capture.site(region.site))
        fix = (
            f"Pass `{flag}=True` to `{called}()`: it switches grad mode off otherwise."
            if flag
            else f"Compute it without `{called}()`, which switches grad mode off."
        )
        return f"{api} of `{called}()` was active", fix, first
    if place is None or place.function in frames:
        return f"{api} was active", fix, first
    function = short_name(place.function)
    around = [frame for frame in first if _holds(frame, analysis.capture.site(cut.ops[0].site))]
    if around:
        fix = f"Move the computation out of the block of `{uncommented(around[0].source)}`."
    elif block:
        fix = _must_leave(function, api)
    return f"{api} of `{function}` was {'' if around else 'still '}active", fix, first


def _condition(analysis: Analysis, region: Region) -> tuple[Location, ...]:
    """Where the function set the variable that it passes to ``set_grad_enabled``, for the last time before."""
    return analysis.user_frames(region.condition, "condition computed here")[:1] if region.condition >= 0 else ()


def _holds(block: Location, frames: tuple[Location, ...]) -> bool:
    """Whether the block that a location opens has one of the frames in it."""
    return any(
        f.scope == block.scope and (block.lineno, block.column) < (f.lineno, f.column) and f.lineno <= block.block_end
        for f in frames
    )


def _decorated(analysis: Analysis, region: Region, api: str, op: Op) -> tuple[str, str, tuple[Location, ...]]:
    function = short_name(region.decorated)
    called = analysis.user_frames(region.site, "called here")
    definition = analysis.capture.site(region.definition)
    if any("/torch/" in frame.filename.replace("\\", "/") for frame in definition):
        return f"the {api} wrapper of `{function}` was active", f"Call `{function}` itself, unwrapped.", called
    if all(frame.library for frame in definition):
        fix = f"`{function}` is for inference: call the model itself where gradients must flow."
        return f"{api} of `{function}` was active", fix, called
    if region.wrapped:
        where = analysis.user_frames(region.definition, f"{region.wrapped} here")
        fix = f"Call `{function}` itself, unwrapped, where gradients must flow."
        return f"the {api} wrapper of `{function}` was active", fix, (*where, *called)
    fix = f"Remove the decorator from `{function}`, or do not call it where gradients must flow."
    if _in_closure_of(analysis, op, region.decorated):
        fix = f"Call the closure in `{function}` under `with torch.enable_grad():`, as the torch.optim optimizers do."
    return (
        f"the {api} decorator of `{function}` was active",
        fix,
        (*analysis.user_frames(region.definition, "decorator"), *called),
    )


def _in_closure_of(analysis: Analysis, op: Op, function: str) -> bool:
    """Whether a step ran the op in the closure that it was given, called by that function."""
    callers = analysis.capture.site(op.site)[1:]
    steps = (step for step in analysis.capture.steps if step.closure and step.start <= op.index <= step.at)
    return any(frame.function == function for frame in callers) and any(steps)
