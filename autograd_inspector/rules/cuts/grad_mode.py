"""AG102: computed while grad mode was off."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op, Region
from autograd_inspector.rules.catalogue import rule
from autograd_inspector.rules.cuts.cut_findings import caused_by, cut_finding, outcome
from autograd_inspector.rules.cuts.cutting import Severed
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.wording.names import short_name
from autograd_inspector.rules.wording.places import unique
from autograd_inspector.rules.wording.quoting import in_place, uncommented


@rule("AG102", "no-grad-region")
def no_grad_region(facts: Facts) -> Iterator[Finding]:
    """Computed while grad mode was off: a `no_grad` block, a decorator, or a mode that leaked.

    Why it matters
        Under `torch.no_grad()` or `torch.set_grad_enabled(False)` nothing is recorded. Called as a function,
        `set_grad_enabled(False)` stays in force after the helper that called it has returned.

    Example
        ::

            with torch.no_grad():
                features = encoder(x)
            head(features).pow(2).mean().backward()
            optimizer.step()

    Fix
        ::

            features = encoder(x)
            head(features).pow(2).mean().backward()
            optimizer.step()

    References
        torch.no_grad, torch.set_grad_enabled; "Locally disabling gradient computation" in the PyTorch documentation.
    """
    for cut in caused_by(facts, "no_grad"):
        region = facts.capture.regions[cut.ops[0].region]
        if region.library:
            continue  # torch's own no_grad (initialisation, conversion; checkpointing, which AG106 judges).
        yield region_finding(facts, "AG102", cut, region)


def region_finding(facts: Facts, code: str, cut: Severed, region: Region) -> Finding:
    """A finding about what was computed in one region of grad mode."""
    op = cut.ops[0]
    why, fix, first = _switch(facts, cut, region)
    fix = _updated(facts, op) or fix
    return cut_finding(
        facts,
        code,
        cut,
        f"{outcome(facts, cut)} was {'updated' if op.writes else 'computed'} while {why}",
        fix,
        unique([*first, *facts.chain(op.site, "computed here")]),
    )


def _updated(facts: Facts, op: Op) -> str:
    """What to do about a leaf's update by hand that made another tensor of it (`w = w - lr * w.grad`)."""
    place, tensors = facts.capture.place(op.site), facts.capture.tensors
    shapes = [tensors[t].shape for t in op.outputs]
    leaves = [t for t in op.inputs if tensors[t].leaf and tensors[t].requires_grad and [tensors[t].shape] == shapes]
    instead = in_place(place.source) if place is not None and leaves and not op.writes else ""
    return instead and f"Update in place: `{instead}`, so that {facts.name(leaves[0])} stays the leaf that learns."


def _switch(facts: Facts, cut: Severed, region: Region) -> tuple[str, str, tuple[Location, ...]]:
    """(why autograd was off, what to do about it, where it was switched off)."""
    inference = region.kind == "inference_mode"
    api = "torch.inference_mode()" if inference else "torch.no_grad()"
    if region.at_entry:
        mode = "inference mode was already enabled" if inference else "grad mode was already disabled"
        fix = "Call torch.set_grad_enabled(True) first, and switch it off with `with torch.no_grad():` only."
        return f"{mode} when the capture began", fix, ()
    if region.decorated:
        return _decorated(facts, region, api, facts.capture.site(cut.ops[0].site))
    first = facts.chain(region.site, "inference mode entered here" if inference else "grad mode switched off here")
    fix = f"Move the computation out of the `{api}` block."
    place = facts.capture.place(region.site)
    block = place is not None and place.source.lstrip().startswith(_BLOCK)
    if region.api.startswith("torch.set_grad_enabled"):
        api = "torch.set_grad_enabled(False)"
        fix = (
            "Make the condition given to set_grad_enabled true for training."
            if block
            else "Use `with torch.no_grad():` around what needs it; set_grad_enabled(False), as a function, stays on."
        )
    frames = {frame.function for frame in facts.capture.site(cut.ops[0].site)}
    if place is None or place.function in frames:
        return f"{api} was in force", fix, first
    function = short_name(place.function)
    around = [frame for frame in first if _holds(frame, facts.capture.site(cut.ops[0].site))]
    if around:
        fix = f"Move the computation out of the block of `{uncommented(around[0].source)}`."
    elif block:
        fix = f"`{function}` has to leave its `{api}` block first: a generator that yields stays inside it."
    return f"{api} of `{function}` was {'' if around else 'still '}in force", fix, first


_BLOCK = ("with ", "async with ")


def _holds(block: Location, frames: tuple[Location, ...]) -> bool:
    """Whether a ``with`` of that line may have one of the frames in its block, by what is known of the source."""
    if not block.source.lstrip().startswith(_BLOCK):
        return False
    inside = [f for f in frames if (f.filename, f.function) == (block.filename, block.function)]
    # The expression after `with ` begins five columns into the statement, what stands in its block no earlier.
    begins = block.column - len("with ")
    return any(f.lineno > block.lineno and (block.column < 0 or not 0 <= f.column <= begins) for f in inside)


def _decorated(
    facts: Facts, region: Region, api: str, frames: tuple[Location, ...]
) -> tuple[str, str, tuple[Location, ...]]:
    function = short_name(region.decorated)
    called = facts.chain(region.site, "called here")
    definition = facts.capture.site(region.definition)
    if any("/torch/" in frame.filename.replace("\\", "/") for frame in definition):
        return f"`{function}` was wrapped in {api}", f"Call `{function}` itself, unwrapped.", called
    if all(frame.library for frame in definition):
        fix = f"`{function}` is for inference: call the model itself where gradient has to flow."
        return f"`{function}` runs under {api}", fix, called
    if not all(frame.source.startswith("@") for frame in definition[:1]):
        known = not definition[0].source.startswith(("def ", "async def "))
        where = facts.chain(region.definition, "wrapped here" if known else "defined here")
        fix = f"Call `{function}` itself, unwrapped, where gradient has to flow."
        return f"`{function}` was wrapped in {api}", fix, (*where, *called)
    fix = f"Take the decorator off `{function}`, or do not call it where gradient has to flow."
    if any("closure(" in frame.source and frame.function == region.decorated for frame in frames):
        fix = f"Let `{function}` call its closure under `with torch.enable_grad():`, as the steps of torch.optim do."
    return f"`{function}` is decorated with {api}", fix, (*facts.chain(region.definition, "decorator"), *called)
