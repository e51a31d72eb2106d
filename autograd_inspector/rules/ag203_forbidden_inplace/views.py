"""Views that may not be modified in place: what they are views of, and what a copy in their place would lose."""

from __future__ import annotations

from autograd_inspector.advice.loops import gone_over, is_loop
from autograd_inspector.advice.naming import is_named, name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.classifier import may_learn
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op
from autograd_inspector.model.program_events import ModuleHookRegistered
from autograd_inspector.model.torch_names import MODULE_HOOK


def maker(analysis: Analysis, target: int) -> Op | None:
    """The op that made it; of a view of one of several results (`q[..., 0]` of a chunk), the op that returned those."""
    made = op = analysis.flow.birth(target)
    while op is not None and is_a(op.name, OpKind.VIEWS) and op.inputs:
        if is_a(op.name, OpKind.SPLITS):
            return op
        op = analysis.flow.birth(op.inputs[0])
    return made


def leaf_behind(analysis: Analysis, view: int) -> str:
    """What a view shows of: "lstm.bias_hh_l0, a leaf", or "a leaf"."""
    base = _base(analysis, view)
    return f"{name_of(analysis, base)}, a leaf" if is_named(analysis, base) else "a leaf"


def shows_a_leaf(analysis: Analysis, view: int) -> bool:
    """Whether a view shows of a leaf that requires grad: autograd lets nobody modify it where gradient is recorded."""
    return may_learn(analysis.capture, _base(analysis, view))


def _base(analysis: Analysis, view: int) -> int:
    """The tensor that a view is one of, by way of other views perhaps."""
    op = analysis.flow.birth(view)
    while op is not None and is_a(op.name, OpKind.VIEWS) and op.inputs:
        view = op.inputs[0]
        op = analysis.flow.birth(view)
    return view


def several_fix(analysis: Analysis, made: Op, name: str) -> str:
    """A variable for each part can be assigned anew; what a loop hands out is only written through."""
    place = analysis.capture.place(made.site)
    if place is not None and is_loop(place.source):
        whole = gone_over(place.source, name) or name_of(analysis, made.inputs[0])
        return (
            f"Compute a new tensor out of place, from all of {whole} at once, or collect the new "
            f"parts in a list and join them with torch.stack: a copy of {name} would leave the whole as it is."
        )
    return f"Use the out-of-place form of the operation, or modify a copy of what `{made.name}` returned (`.clone()`)."


def lost_in_a_copy(analysis: Analysis, made: Op | None, name: str) -> str:
    """A warning, for a view: the edit was to reach what it is a view of."""
    if made is None or not is_a(made.name, OpKind.VIEWS) or not made.inputs:
        return f", or modify a copy (`.clone()`) of {name}"
    return f": the edit of a copy of {name} would not reach {name_of(analysis, made.inputs[0])}"


def hooks_behind(analysis: Analysis, made: Op | None) -> list[ModuleHookRegistered]:
    """The backward hooks of the module on whose output a view stands because of them."""
    if made is None or not made.name.startswith(MODULE_HOOK):
        return []
    call = analysis.capture.call_of(made)
    hooks = [e for e in analysis.capture.events_of(ModuleHookRegistered) if e.backward and e.at <= made.index]
    own = [hook for hook in hooks if call is not None and hook.path == call.path and hook.path]
    # Of a model that had not been called by then only the class of the module is known.
    return own[-1:] or [hook for hook in hooks if call is not None and not hook.path and hook.type == call.type][-1:]
