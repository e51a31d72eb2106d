"""AG203: in-place operations that autograd forbids outright."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.names import short_name
from autograd_inspector.advice.naming import name_of, names_of
from autograd_inspector.advice.receivers import receiver
from autograd_inspector.advice.remedies.in_place import out_of_place
from autograd_inspector.advice.spelling import is_path
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.callers import called_function
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import raising
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.remedy import NotInPlace, Remedies, SetArgument, Wrap
from autograd_inspector.model.torch_errors import TorchError, says
from autograd_inspector.model.wording import summarize_names
from autograd_inspector.rules.ag203_forbidden_inplace.views import (
    hooks_behind,
    leaf_behind,
    lost_in_a_copy,
    maker,
    several_fix,
    shows_a_leaf,
)

_UNDER_NO_GRAD = (
    "Wrap the update in `with torch.no_grad():`; if gradients must flow through it, compute a new tensor out of place "
    "instead."
)
_OUTSIDE = "Create the view with grad mode on, outside of torch.no_grad(){lost}."

_WITH_HOOK = (
    "Use the out-of-place form of the operation (`inplace=False`, if a module does it), or register the hook on a "
    "module that neither works in place itself nor comes right before one that does."
)

_FORBIDDEN = (
    (
        TorchError.VIEW_OF_LEAF,
        "is a view of {base} that requires grad",
        _UNDER_NO_GRAD,
    ),
    (
        TorchError.LEAF_IN_PLACE,
        "is a leaf that requires grad",
        "Wrap the update in `with torch.no_grad():`, or work on `{name}.clone()`.",
    ),
    (
        TorchError.OVERLAPS_ITSELF,
        "is an expanded view: several of its elements share one memory location",
        "Use an out-of-place form (`{name} = {name} + ...`), or call `.contiguous()` / `.clone()` after the expand.",
    ),
    (
        TorchError.OVERLAPS_INPUT,
        "overlaps the memory that the same call reads",
        "Read from a copy: `{name}.clone()`.",
    ),
    (
        TorchError.VIEW_IN_PLACE,
        "is a view that must not be modified in place",
        "Use the out-of-place form of the operation{lost}.",
    ),
    (
        TorchError.OUT_ARGUMENT,
        "is written through out=, which autograd does not follow",
        "Assign the result instead of passing out=, or compute under torch.no_grad().",
    ),
    (
        TorchError.DETACH_OF_VIEW,
        "is a view, which cannot be detached in place",
        "Use `detach()`, which returns a new tensor, instead of `detach_()`.",
    ),
    (
        TorchError.VIEW_MADE_IN_NO_GRAD,
        "is a view made under no_grad and modified with grad mode on",
        _OUTSIDE,
    ),
)


def check(analysis: Analysis) -> Iterator[Problem]:
    """An in-place op on a leaf that requires grad, on an expanded tensor, or on a view that forbids it.

    Why it matters
        The call raises at once, and the message names neither the tensor nor the base of the view. A module with a full
        backward hook returns a view as well, so an in-place activation after it raises.

    Example
        ::

            bias = (w * 2).expand(3, 4)
            bias += torch.ones(3, 4)

    Fix
        ::

            bias = (w * 2).expand(3, 4)
            bias = bias + torch.ones(3, 4)

    References
        "In-place operations with autograd" in the autograd notes of the PyTorch documentation; torch.Tensor.expand.
    """
    for op in raising(analysis.capture):
        for error, what, fix in _FORBIDDEN if op.error else ():
            if says(op.error, error) and op.has(Trait.STEP):
                yield _expanded(analysis, op, error) or _in_step(analysis, op, what, fix, error)
                break
            if says(op.error, error) and op.inputs:
                yield _finding(analysis, op, what, fix, error)
                break


def _finding(analysis: Analysis, op: Op, what: str, fix: str, error: TorchError) -> Problem:
    # `out=` comes last among the arguments, what a method modifies comes first.
    target = op.inputs[-1 if error is TorchError.OUT_ARGUMENT else 0]
    record = analysis.capture.tensors[target]
    place = analysis.capture.place(op.site)
    name = name_of(analysis, target) if record.names else receiver(place, op.name) or name_of(analysis, target)
    made = maker(analysis, target) if record.kind != "parameter" else None
    if fix is _OUTSIDE and shows_a_leaf(analysis, target):
        fix = _UNDER_NO_GRAD
    hooked = hooks_behind(analysis, made)
    if hooked:
        hook, call = short_name(hooked[0].hook), analysis.capture.call_of(made) if made is not None else None
        of = f" of {call.path}" if call is not None and call.path else ""
        what = f"is a view that torch returned because of the backward hook `{hook}`{of}, and must not be modified in place"
        made, fix = None, _WITH_HOOK
    by = f" (made by `{made.name}`)" if made is not None and not name.startswith("the result of ") else ""
    return Problem(
        "error" if analysis.capture.error else "info",  # The program caught it and went on.
        f"`{op.name}` cannot modify {name} in place: {name}{by} {what}".replace(
            "{base}", leaf_behind(analysis, target)
        ),
        several_fix(analysis, made, name)
        if made is not None and is_a(made.name, OpKind.SPLITS)
        else _in_code(fix, receiver(place, op.name) or name).replace("{lost}", lost_in_a_copy(analysis, made, name)),
        analysis.places(
            (op, "modified in place here"),
            *((hook, "backward hook registered here") for hook in hooked),
            (made, "made here"),
        ),
        (name, op.name),
        ops=(op.index,),
        cures=tuple(_cures(analysis, op, of_leaf=error in _OF_LEAVES or fix is _UNDER_NO_GRAD)),
    )


_OF_LEAVES = {TorchError.VIEW_OF_LEAF, TorchError.LEAF_IN_PLACE}
_RECORDED = _OF_LEAVES | {TorchError.OUT_ARGUMENT, TorchError.VIEW_MADE_IN_NO_GRAD}
"""What torch allows where grad mode is off."""


def _cures(analysis: Analysis, op: Op, *, of_leaf: bool) -> Iterator[Remedies]:
    place = analysis.capture.place(op.site)
    if place is None:
        return
    made = analysis.flow.birth(op.inputs[0]) if of_leaf and op.inputs else None
    if made is not None and _takes_history(analysis, op):
        where = analysis.capture.place(made.site)
        if where is not None:
            yield (SetArgument(where, made.name, "requires_grad", ""),)
    if of_leaf:
        yield (Wrap(place, "with torch.no_grad():"),)
    elif op.call >= 0 and analysis.capture.calls[op.call].inplace:
        call = analysis.capture.calls[op.call]
        frames = [frame for frame in analysis.capture.site(call.site) if not frame.library]
        yield from ((NotInPlace(frame, call.type),) for frame in frames)
    else:
        yield (out_of_place(analysis, op, place),)


def _takes_history(analysis: Analysis, op: Op) -> bool:
    """Whether something with a graph is put into a buffer of the program's own, which nothing steps."""
    target, *given = op.inputs
    tensors = analysis.capture.tensors
    own = tensors[target].kind != "parameter" and target not in analysis.capture.optimized
    return own and any(tensors[t].requires_grad and not tensors[t].leaf for t in given)


def _expanded(analysis: Analysis, op: Op, error: TorchError) -> Problem | None:
    """Parameters of a step whose elements share memory, where such are what it could not write to: where they were made."""
    tensors = analysis.capture.tensors
    steps = [step for step in analysis.capture.steps if step.op == op.index]
    shared = [p.tensor for s in steps for p in s.parameters if 0 < tensors[p.tensor].extent < tensors[p.tensor].nbytes]
    if not shared or error is not TorchError.OVERLAPS_ITSELF:
        return None
    names, record = names_of(analysis, shared), tensors[shared[0]]
    made = [t.birth for t in tensors if t.storage == record.storage and t.shape == record.shape and t.birth >= 0]
    return Problem(
        "error" if analysis.capture.error else "info",
        f"`{op.name}` cannot modify {summarize_names(names)} in place: several elements share one memory location, as expand() "
        "leaves them",
        "Call `.clone()` after the expand, so that its elements do not share memory.",
        analysis.places(
            *((analysis.capture.ops[at], "expanded here") for at in made[:1]), (steps[0].site, "step() called here")
        ),
        (*names, op.name),
        ops=(op.index,),
    )


def _in_step(analysis: Analysis, op: Op, what: str, fix: str, error: TorchError) -> Problem:
    """An optimizer of the program's own that updates its parameters with grad mode on."""
    place = analysis.capture.place(op.site)
    name = receiver(place, _called(place)) or "a parameter"
    calls = [step.site for step in analysis.capture.steps if step.op == op.index]
    return Problem(
        "error" if analysis.capture.error else "info",
        f"`{op.name}` cannot modify {name} in place: {name} {what}".replace("{base}", "a leaf"),
        "Decorate step() with `@torch.no_grad()`, as torch's own optimizers do, or wrap the update in "
        "`with torch.no_grad():`."
        if error in _RECORDED
        else _in_code(fix, name),
        analysis.places((op, "modified in place here"), *((site, "step() called here") for site in calls)),
        (name, op.name),
        ops=(op.index,),
    )


def _in_code(fix: str, name: str) -> str:
    """The advice with the name in it; what is no expression of the program's stays out of the code."""
    if is_path(name):
        return fix.replace("{name}", name)
    return fix.replace("`{name}.clone()`", "a copy (`.clone()`) of it").replace(" (`{name} = {name} + ...`)", "")


def _called(place: Location | None) -> str:
    """The name of the function that an expression calls."""
    return called_function(place.expression) if place is not None else ""
