"""AG102 and AG103: computed while autograd was switched off."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op, Region
from autograd_inspector.rules.catalogue import Facts, folded, rule, unique
from autograd_inspector.rules.cut_findings import caused_by, cut_finding, outcome
from autograd_inspector.rules.cutting import Severed

_INFERENCE = "torch.inference_mode"
INFERENCE_ERRORS = ("Inference tensors cannot be saved for backward", "Inplace update to inference tensor")


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
        yield _region_finding(facts, "AG102", cut, region)


@rule("AG103", "inference-mode")
def inference_mode(facts: Facts) -> Iterator[Finding]:
    """Computed under `torch.inference_mode()`, or a tensor made there used where autograd records.

    Why it matters
        An inference tensor has no version counter and no history, for good. It cannot be saved for backward, and what
        is computed from parameters under inference mode gives them no gradient.

    Example
        ::

            with torch.inference_mode():
                features = encoder(x)
            head(features).pow(2).mean().backward()

    Fix
        ::

            with torch.no_grad():
                features = encoder(x)
            head(features).pow(2).mean().backward()

    References
        torch.inference_mode; "Inference mode" in the autograd notes of the PyTorch documentation.
    """
    for cut in caused_by(facts, "inference_mode"):
        yield _region_finding(facts, "AG103", cut, _entered(facts, cut.ops[0].region))
    yield from _made_to_stay(facts)
    for op in facts.capture.ops:
        if op.error and any(text in op.error for text in INFERENCE_ERRORS):
            yield _inference_tensor(facts, op)


def _entered(facts: Facts, number: int) -> Region:
    """The region that entered inference mode: enabling grad mode inside of it changes nothing."""
    regions = facts.capture.regions
    before = regions[number::-1]
    return next((r for r in before if r.kind != "inference_mode" or r.api.startswith(_INFERENCE)), regions[number])


def _made_to_stay(facts: Facts) -> Iterator[Finding]:
    """Parameters of an optimizer that were made under inference mode."""
    made = {tensor: facts.flow.birth(tensor) for tensor in sorted(facts.capture.optimized)}
    regions = facts.capture.regions
    found = {t: op for t, op in made.items() if op is not None and regions[op.region].kind == "inference_mode"}
    if found:
        op = next(iter(found.values()))
        names = [facts.name(tensor) for tensor in found]
        yield Finding(
            "AG103",
            "inference-mode",
            "error",
            f"made in torch.inference_mode(), {folded(names)} can never learn: inference tensors cannot be updated "
            "outside of it",
            "Build the model outside of torch.inference_mode().",
            unique(
                [
                    *facts.chain(op.site, "made under inference mode"),
                    *facts.chain(_entered(facts, op.region).site, "inference mode entered here"),
                ]
            ),
            tuple(dict.fromkeys(names)),
            ops=(op.index,),
        )


def _region_finding(facts: Facts, code: str, cut: Severed, region: Region) -> Finding:
    op = cut.ops[0]
    why, fix, first = _switch(facts, cut, region)
    return cut_finding(
        facts,
        code,
        cut,
        f"{outcome(facts, cut)} was {'updated' if op.writes else 'computed'} while {why}",
        fix,
        unique([*first, *facts.chain(op.site, "computed here")]),
    )


def _switch(facts: Facts, cut: Severed, region: Region) -> tuple[str, str, tuple[Location, ...]]:
    """(why autograd was off, what to do about it, where it was switched off)."""
    inference = region.kind == "inference_mode"
    api = "torch.inference_mode()" if inference else "torch.no_grad()"
    if region.at_entry:
        mode = "inference mode was already enabled" if inference else "grad mode was already disabled"
        fix = "Call torch.set_grad_enabled(True) first, and switch it off with `with torch.no_grad():` only."
        return f"{mode} when the capture began", fix, ()
    if region.decorated:
        return _decorated(facts, region, api)
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
    function = _short(place.function)
    around = [frame for frame in first if frame.function in frames and frame.source.lstrip().startswith(_BLOCK)]
    if around:
        fix = f"Move the computation out of the block of `{around[0].source.strip()}`."
    elif block:
        fix = f"`{function}` has to leave its `{api}` block first: a generator that yields stays inside it."
    return f"{api} of `{function}` was {'' if around else 'still '}in force", fix, first


_BLOCK = ("with ", "async with ")


def _short(function: str) -> str:
    return function.rsplit("<locals>.", 1)[-1]


def _decorated(facts: Facts, region: Region, api: str) -> tuple[str, str, tuple[Location, ...]]:
    function = _short(region.decorated)
    called = facts.chain(region.site, "called here")
    definition = facts.capture.site(region.definition)
    if any("/torch/" in frame.filename.replace("\\", "/") for frame in definition):
        return f"`{function}` was wrapped in {api}", f"Call `{function}` itself, unwrapped.", called
    if all(frame.library for frame in definition):
        fix = f"`{function}` is for inference: call the model itself where gradient has to flow."
        return f"`{function}` runs under {api}", fix, called
    fix = f"Take the decorator off `{function}`, or do not call it where gradient has to flow."
    return f"`{function}` is decorated with {api}", fix, (*facts.chain(region.definition, "decorator"), *called)


def _inference_tensor(facts: Facts, op: Op) -> Finding:
    capture = facts.capture
    culprit = next((t for t in op.inputs if capture.tensors[t].inference), -1)
    made = facts.flow.birth(culprit) if culprit >= 0 else None
    if culprit >= 0:
        for above, through in facts.flow.upstream([(culprit, op.index)], lambda _o, t: capture.tensors[t].inference):
            if capture.tensors[through].inference and capture.regions[above.region].kind == "inference_mode":
                made, culprit = above, through
                break
    name = facts.name(culprit) if culprit >= 0 else "a tensor"
    region = capture.regions[made.region] if made is not None else None
    origin = facts.chain(made.site, "made under inference mode") if made is not None else ()
    switch = facts.chain(region.site, "inference mode entered here") if region is not None and region.api else ()
    since = "in torch.inference_mode()" if made is not None else "in inference mode before the capture began"
    return Finding(
        "AG103",
        "inference-mode",
        "error",
        f"`{op.name}` needs {name} for backward, but {name} was made {since} and can never be saved",
        f"Make {name} under torch.no_grad() instead of inference mode, or use {name}.clone() outside of it "
        "(with Lightning: Trainer(inference_mode=False)).",
        unique([*origin, *switch, *facts.chain(op.site, "used here")]),
        (name,),
        ops=(op.index,),
    )
