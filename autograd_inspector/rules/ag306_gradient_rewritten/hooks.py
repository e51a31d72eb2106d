"""Hooks that modify gradients in place, or turn them into zeros."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from autograd_inspector.advice.names import short_name
from autograd_inspector.advice.naming import name_of, names_of
from autograd_inspector.advice.remedies.in_place import out_of_place
from autograd_inspector.advice.remedies.left_out import left_out, unhooked
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.hooked_leaves import by_hooks_alone, zeroed_by_hooks
from autograd_inspector.analysis.gradients.zeroing_hooks import (
    Zeroing,
    gradient_hooks,
    zeroing_module_hooks,
    zeroing_tensor_hooks,
)
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import having
from autograd_inspector.model.event import TensorHook
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.remedy import ReturnNew
from autograd_inspector.model.wording import agree, summarize_names


def edited_in_hook(analysis: Analysis) -> Iterator[Problem]:
    """In place on a gradient while backward runs: what hooks are told not to do."""
    seen: set[int] = set()
    for op in having(analysis.capture, Trait.BACKWARD):
        if op.has(Trait.INNER) or op.site in seen:
            continue
        for write in op.writes:
            given = _aliased(analysis, write.tensor)
            record = analysis.capture.tensors[given]
            if record.birth >= 0 or record.of_model or not _is_gradient(analysis, op, given):
                continue
            seen.add(op.site)
            hooks = gradient_hooks(analysis.capture)
            hooked = [name_of(analysis, h.tensor) for h in hooks]
            yield Problem(
                "warning",
                f"`{op.name}` modifies a gradient in place inside a hook{' of ' + summarize_names(hooked) if hooked else ''}: backward "
                "continues with the modified values whatever the hook returns, and other paths of backward may share that "
                "tensor",
                _out_of_place(op),
                analysis.places((op, "gradient modified here"), *((h, role_of(h)) for h in hooks[:2])),
                (*hooked, op.name),
                ops=(op.index,),
                cures=tuple(
                    (ReturnNew(place, out_of_place(analysis, op, place)),)
                    for place in analysis.user_frames(op.site, "")[:1]
                ),
            )


def _out_of_place(op: Op) -> str:
    name = op.name.strip("_")
    if op.name.endswith("_") and not op.name.startswith("_") and not is_a(op.name, OpKind.IN_PLACE_ONLY):
        instead = f"Call `{name}` instead of `{op.name}`: it makes a new tensor"
    else:
        instead = "Work on a copy (`grad.clone()`)"
    return f"{instead}. Return a tensor only to replace the gradient; a hook that only reads returns None."


def role_of(hook: TensorHook) -> str:
    """What the site of a hook is."""
    return "hook defined here" if hook.older else "hook registered here"


def _aliased(analysis: Analysis, tensor: int) -> int:
    """What a tensor is a view, or a detached alias, of: ``grad.detach()`` has the memory of the gradient."""
    tensors = analysis.capture.tensors
    while (made := analysis.flow.birth(tensor)) is not None:
        storage = tensors[tensor].storage
        of = next((t for t in made.inputs if t != tensor and storage >= 0 and tensors[t].storage == storage), -1)
        if of < 0:
            break
        tensor = of
    return tensor


def _is_gradient(analysis: Analysis, op: Op, tensor: int) -> bool:
    """Whether the engine made the tensor: first met inside backward, and of the shape of something hooked."""
    capture = analysis.capture
    record = capture.tensors[tensor]
    inside = any(r.start <= record.first_use <= r.end for r in capture.backwards)
    read_from_grad = any(read.gradient == tensor and read.at <= op.index for read in capture.grad_reads)
    return (
        inside
        and not read_from_grad
        and any(capture.tensors[h.tensor].shape == record.shape for h in gradient_hooks(analysis.capture))
    )


def zeroed_by_hook(analysis: Analysis) -> Iterator[Problem]:
    """A hooked leaf whose gradient is all zeros (or not finite) although what arrived was not. Needs values."""
    zeroed = zeroed_by_hooks(analysis)
    names_by_case: dict[tuple[int, str], list[str]] = {}
    for tensor, values in by_hooks_alone(analysis).items():
        hook = [each for each in gradient_hooks(analysis.capture) if each.tensor == tensor][-1]
        zero, bad = tensor in zeroed, any(value.nonfinite for value in values)
        if zero or bad:
            case = hook.site, "all zeros" if zero else "not finite"
            names_by_case.setdefault(case, []).append(name_of(analysis, tensor))
    hook_of = {h.site: h for h in gradient_hooks(analysis.capture)}
    for (site, what), names in names_by_case.items():
        name = short_name(hook_of[site].name)
        yield Problem(
            "warning",
            f"the hook {name} rewrites the gradient of {summarize_names(names)}: it is {what} although backward computed different values",
            "Return the gradient itself (or a scaled copy) from the hook, or remove the hook.",
            analysis.user_frames(site, role_of(hook_of[site])),
            (*dict.fromkeys(names), name),
            cures=tuple(unhooked(analysis, hook_of[site])),
        )


def zeroed_by_module_hook(analysis: Analysis) -> Iterator[Problem]:
    """A module's backward hook was given a gradient and passed on zeros. Needs values."""
    for found in zeroing_module_hooks(analysis):
        hook = short_name(found.hook.hook) if found.hook is not None else "a backward hook"
        call, names = analysis.capture.call_of(found.op), names_of(analysis, found.concerned)
        named = call is not None and call.path
        of = f" of {analysis.capture.display_names.layer(call)} (nn.{call.type})" if call is not None and named else ""
        yield Problem(
            "warning" if found.starved else "info",
            f"the module hook {hook}{of} turns the gradient into zeros: {summarize_names(names)} {_effect(found, names)}",
            "Return None from the hook to leave the gradient as it is, or remove the hook.",
            analysis.places((found.hook, "hook registered here"), (found.op, "module called here")),
            (*names, hook),
            ops=(found.op.index,),
            cures=tuple(left_out(analysis, found.hook.site)) if found.hook is not None else (),
        )


def zeroed_on_the_way(analysis: Analysis) -> Iterator[Problem]:
    """A hook on an activation turned its gradient into zeros in each backward. Needs values."""
    for found in zeroing_tensor_hooks(analysis):
        names, name = names_of(analysis, found.concerned), short_name(found.hook.name)
        yield Problem(
            "warning" if found.starved else "info",
            f"the hook {name} on the result of `{found.op.name}` turns its gradient into zeros: {summarize_names(names)} "
            f"{_effect(found, names)}",
            "Return nonzero values from the hook (check the factor that it multiplies by), None to leave the "
            "gradient as it is, or remove the hook.",
            analysis.places((found.hook, role_of(found.hook)), (found.op, "the hooked tensor is made here")),
            (*names, name),
            ops=(found.op.index,),
            cures=tuple(unhooked(analysis, found.hook)),
        )


def _effect(found: Zeroing[Any], names: list[str]) -> str:
    """Where all that lies behind learns by other ways, as past a residual connection, that is worth seeing, and no more."""
    if found.starved:
        return agree(names, "never moves", "never move")
    return f"{agree(names, 'gets', 'get')} gradients only through other paths"


def spoiled_elsewhere(analysis: Analysis) -> set[int]:
    """Leaves below a node that was seen to pass on zeros or NaN: no hook of theirs has the blame."""
    return {t for fault in analysis.capture.gradient_faults for t in analysis.spoiled_below(fault)}
