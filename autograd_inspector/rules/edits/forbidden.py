"""AG203: in-place operations that autograd forbids outright."""

from __future__ import annotations

import re
from collections.abc import Iterator

from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.rules.catalogue import rule
from autograd_inspector.rules.edits.views_of import SEVERAL, leaf_behind, lost_in_a_copy, maker, several_fix
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.wording.places import unique
from autograd_inspector.rules.wording.receivers import receiver
from autograd_inspector.rules.wording.spelling import called, is_path

_FORBIDDEN = (
    (
        "a view of a leaf Variable that requires grad",
        "is a view of {base} that requires grad",
        "Wrap the update in `with torch.no_grad():`; where gradient has to flow through it, compute a new tensor out of "
        "place instead.",
    ),
    (
        "a leaf Variable that requires grad",
        "is a leaf that requires grad",
        "Wrap the update in `with torch.no_grad():`, or work on `{name}.clone()`.",
    ),
    (
        "more than one element of the written-to tensor refers to a single memory location",
        "is an expanded view: several of its elements are one memory location",
        "Use an out-of-place form (`{name} = {name} + ...`), or call `.contiguous()` / `.clone()` after the expand.",
    ),
    (
        "some elements of the input tensor and the written-to tensor refer to a single memory location",
        "overlaps the memory that the same call reads",
        "Read from a copy: `{name}.clone()`.",
    ),
    (
        "is a view and is being modified inplace",
        "is a view that must not be modified in place",
        "Use the out-of-place form of the operation{lost}.",
    ),
    (
        "functions with out=... arguments don't support automatic differentiation",
        "is written through out=, which autograd does not follow",
        "Assign the result instead of passing out=, or compute under torch.no_grad().",
    ),
    (
        "A view was created in no_grad mode and is being modified inplace with grad mode enabled",
        "is a view made under no_grad and modified with grad mode on",
        "Make the view where gradient is recorded, outside of torch.no_grad(){lost}.",
    ),
)


@rule("AG203", "forbidden-inplace")
def forbidden_inplace(facts: Facts) -> Iterator[Finding]:
    """In place on a leaf that requires grad, on an expanded tensor, or on a view that allows none.

    Why it matters
        The call raises at once, in words that name neither the tensor nor the view that it is.

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
    for op in facts.capture.ops:
        for text, what, fix in _FORBIDDEN if op.error else ():
            if text in op.error and op.has(Trait.STEP):
                yield _in_step(facts, op, what, fix)
                break
            if text in op.error and op.inputs:
                yield _finding(facts, op, what, fix)
                break


def _finding(facts: Facts, op: Op, what: str, fix: str) -> Finding:
    # `out=` comes last among the arguments, what a method modifies comes first.
    target = op.inputs[-1 if "out=" in what else 0]
    record = facts.capture.tensors[target]
    place = facts.capture.place(op.site)
    name = record.names[0] if record.names else receiver(place, op.name) or called(facts, target)
    if place is not None and "." not in name and "[" in name:
        name = _assigned(place.source) or name
    made = maker(facts, target) if record.kind != "parameter" else None
    by = f" (made by `{made.name}`)" if made is not None and not name.startswith("the result of ") else ""
    return Finding(
        "AG203",
        "forbidden-inplace",
        "error" if facts.capture.error else "info",  # The program caught it and went on.
        f"`{op.name}` cannot modify {name} in place: {name}{by} {what}".replace("{base}", leaf_behind(facts, target)),
        several_fix(facts, made, name)
        if made is not None and made.name in SEVERAL
        else _in_code(fix, receiver(place, op.name) or name).replace("{lost}", lost_in_a_copy(facts, made, name)),
        unique(
            [
                *facts.chain(op.site, "modified in place here"),
                *(facts.chain(made.site, "made here") if made is not None else ()),
            ]
        ),
        (name, op.name),
        ops=(op.index,),
    )


def _in_step(facts: Facts, op: Op, what: str, fix: str) -> Finding:
    """An optimizer of the program's own that updates its parameters with grad mode on."""
    place = facts.capture.place(op.site)
    name = receiver(place, _called(place)) or "a parameter"
    calls = [step.site for step in facts.capture.steps if step.op == op.index]
    return Finding(
        "AG203",
        "forbidden-inplace",
        "error" if facts.capture.error else "info",
        f"`{op.name}` cannot modify {name} in place: {name} {what}".replace("{base}", "a leaf"),
        f"Decorate step() with `@torch.no_grad()`, as torch's own optimizers do. {_in_code(fix, name)}",
        unique(
            [
                *facts.chain(op.site, "modified in place here"),
                *(place for site in calls for place in facts.chain(site, "step() called here")),
            ]
        ),
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
    found = _CALL.match(place.expression) if place is not None else None
    return found["name"] if found is not None else ""


_CALL = re.compile(r"(?:[\w.\[\]'\"]+\.)?(?P<name>\w+)\(")


def _assigned(source: str) -> str:
    """The variable on the left of an augmented assignment."""
    head = source.split("=", maxsplit=1)[0].rstrip("+-*/@%&|^ <>")
    return head.strip() if head.strip().isidentifier() else ""
