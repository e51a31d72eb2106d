"""AG103: computed under inference mode, or a tensor made there used where autograd records."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.cut_problems import caused_by
from autograd_inspector.advice.grad_mode_problems import region_problem, switched_at
from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.receivers import receiver
from autograd_inspector.advice.spelling import copy_of, is_path
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ops_of import raising
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op, Region, Trait
from autograd_inspector.model.remedy import Remedies, Substitute, Unblock, Undecorate
from autograd_inspector.model.rewrites import Reenter
from autograd_inspector.model.torch_errors import TorchError, says
from autograd_inspector.model.wording import agree, summarize_names

_REFUSED = (
    TorchError.INFERENCE_SAVED,
    TorchError.INFERENCE_IN_PLACE,
    TorchError.INFERENCE_OTHER,
    TorchError.VIEW_MADE_IN_INFERENCE,
)
_INFERENCE = "torch.inference_mode"


def check(analysis: Analysis) -> Iterator[Problem]:
    """Computed under `torch.inference_mode()`, or a tensor made there used where autograd records.

    Why it matters
        An inference tensor never has a version counter or a graph. It cannot be saved for backward, and results
        computed from parameters in inference mode give those parameters no gradient.

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
    for cut in caused_by(analysis, "inference_mode"):
        yield region_problem(analysis, cut, _entered(analysis, cut.ops[0].region))
    built = list(_made_to_stay(analysis))
    yield from built
    for op in raising(analysis.capture):
        if op.has(Trait.STEP) and built:
            continue  # The step raises for these parameters.
        if says(op.error, *_REFUSED):
            yield _inference_tensor(analysis, op)


def _entered(analysis: Analysis, number: int) -> Region:
    """The region that entered inference mode: enabling grad mode inside of it changes nothing."""
    regions = analysis.capture.regions
    before = regions[number::-1]
    return next((r for r in before if r.kind != "inference_mode" or r.api.startswith(_INFERENCE)), regions[number])


def _made_to_stay(analysis: Analysis) -> Iterator[Problem]:
    """Parameters of an optimizer that were made under inference mode."""
    made = {tensor: analysis.flow.birth(tensor) for tensor in sorted(analysis.capture.optimized)}
    regions = analysis.capture.regions
    inference_makers = {
        t: op for t, op in made.items() if op is not None and regions[op.region].kind == "inference_mode"
    }
    if inference_makers:
        op = next(iter(inference_makers.values()))
        names = [name_of(analysis, tensor) for tensor in inference_makers]
        yield Problem(
            "error",
            f"{summarize_names(names)} {agree(names, 'was', 'were')} created in torch.inference_mode() and can never be trained: inference tensors cannot be updated "
            "outside of it",
            "Build the model outside of torch.inference_mode().",
            (
                *analysis.user_frames(op.site, "made under inference mode"),
                *switched_at(analysis, _entered(analysis, op.region), "inference mode entered here"),
            ),
            tuple(names),
            ops=(op.index,),
        )


def _taken_from(analysis: Analysis, tensor: int) -> int:
    """The tensor from before the capture that this one is a view of: ``anchors`` of ``anchors.T``."""
    made = analysis.flow.birth(tensor)
    while made is not None:
        inference_inputs = [t for t in made.inputs if analysis.capture.tensors[t].inference]
        if not inference_inputs:
            return tensor
        tensor, made = inference_inputs[0], analysis.flow.birth(inference_inputs[0])
    return tensor


def _inference_tensor(analysis: Analysis, op: Op) -> Problem:
    capture = analysis.capture
    met = [p.tensor for step in capture.steps if step.op == op.index for p in step.parameters]
    culprit = next((t for t in (*op.inputs, *met) if capture.tensors[t].inference), -1)
    made = analysis.flow.birth(culprit) if culprit >= 0 else None
    if culprit >= 0:
        for above, through in analysis.flow.upstream([(culprit, op.index)], lambda _o, t: capture.tensors[t].inference):
            if capture.tensors[through].inference and capture.regions[above.region].kind == "inference_mode":
                made, culprit = above, through
                break
        else:
            made, culprit = None, _taken_from(analysis, culprit)
    name = name_of(analysis, culprit) if culprit >= 0 else "a tensor"
    region = capture.regions[made.region] if made is not None else None
    origin = analysis.user_frames(made.site, "made under inference mode") if made is not None else ()
    switch = switched_at(analysis, region, "inference mode entered here") if region is not None and region.api else ()
    since = "in torch.inference_mode()" if made is not None else "in inference mode before the capture began"
    if says(op.error, TorchError.INFERENCE_IN_PLACE):
        if "[" in name:  # It has no name of its own.
            name = receiver(capture.place(op.site), op.name) or name
        what = (
            f"`{op.name}` modifies {name} in place, but {name} was made {since}, and torch allows that only within it"
        )
        instead = f"put {copy_of(analysis, name)} in its place before updating it outside of inference mode"
    elif says(op.error, TorchError.INFERENCE_OTHER):
        what = f"`{op.name}` was refused for {name}, which was made {since} and cannot require grad outside of it"
        instead = f"use {copy_of(analysis, name)} outside of it"
    else:
        what = f"`{op.name}` needs {name} for backward, but {name} was made {since} and cannot be saved for backward"
        instead = f"use {copy_of(analysis, name)} outside of it"
    return Problem(
        "error",
        what,
        f"Make {name} under torch.no_grad() instead of inference mode, or {instead} "
        "(with Lightning: Trainer(inference_mode=False)).",
        (*origin, *switch, *analysis.user_frames(op.site, "used here")),
        (name,),
        ops=(op.index,),
        cures=(*_left(analysis, made, region), *_cures(analysis, op, name, region)),
    )


def _left(analysis: Analysis, made: Op | None, region: Region | None) -> Iterator[Remedies]:
    """The mode is left where parameters that an optimizer holds are used in it alone: no_grad would cut them off."""
    if made is None or region is None or not region.api:
        return
    capture = analysis.capture
    above = [op for op, _ in analysis.flow.upstream([(t, made.index + 1) for t in made.outputs], lambda _o, _t: True)]
    learning = {t for op in (made, *above) for t in op.inputs} & capture.optimized
    elsewhere = {t for op in capture.ops if op.recorded for t in op.inputs}
    if not learning or learning <= elsewhere:
        return
    place = capture.place(region.definition if region.decorated else region.site)
    if place is not None and region.decorated:
        yield (Undecorate(place),)
    elif place is not None and place.block_end > 0:
        yield (Unblock(place, tuple(f for op in (made, *above) for f in capture.site(op.site) if not f.library)),)


def _cures(analysis: Analysis, op: Op, name: str, region: Region | None) -> Iterator[Remedies]:
    capture = analysis.capture
    place = capture.place(region.definition if region.decorated else region.site) if region is not None else None
    if place is not None:
        yield (Reenter(place, "no_grad"),)
    used = capture.place(op.site)
    if used is not None and is_path(name):
        yield (Substitute(used, name, "{}.clone()"),)
