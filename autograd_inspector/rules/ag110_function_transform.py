"""AG110: transforms of torch.func that refuse what they are to transform."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from autograd_inspector.advice.naming import layer_of, names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op
from autograd_inspector.model.program_events import IndependentResult, NamesUnmatched, RandomUnderVmap
from autograd_inspector.model.remedy import SetArgument
from autograd_inspector.model.rewrites import CallFunctional
from autograd_inspector.model.torch_errors import TorchError, says
from autograd_inspector.model.wording import summarize_names


def check(analysis: Analysis) -> Iterator[Problem]:
    """A torch.func transform that refuses a function, or differentiates one that does not use its arguments.

    Why it matters
        `vmap` runs the function once for all samples, so it must know whether all of them share one dropout mask. The
        error is raised at the random op, possibly far from the call of `vmap`. `torch.func.grad` returns zeros for a
        function that calls a module with the module's own parameters instead of the parameters passed to the function.

    Example
        ::

            noisy = torch.vmap(lambda row: net(row + torch.randn_like(row)))
            noisy(x)

    Fix
        ::

            noisy = torch.vmap(lambda row: net(row + torch.randn_like(row)), randomness="different")
            noisy(x)

    References
        torch.func.vmap (randomness); "torch.func whirlwind tour" in the PyTorch documentation.
    """
    if says(analysis.capture.error, TorchError.VMAP_RANDOM):
        for event in analysis.capture.events_of(RandomUnderVmap)[-1:]:
            yield _random(analysis, event)
    unmatched = any(event.method == "functional_call" for event in analysis.capture.events_of(NamesUnmatched))
    told: set[int] = set()
    for result in () if unmatched else reversed(analysis.capture.events_of(IndependentResult)):
        problem = _independent(analysis, result) if result.site not in told else None
        if problem is not None:
            told.add(result.site)  # Once a line: what was computed in folded steps is not known any more.
            yield problem
    if says(analysis.capture.error, TorchError.FUNCTION_NOT_SCALAR):
        yield from _not_scalar(analysis)


def _independent(analysis: Analysis, event: IndependentResult) -> Problem | None:
    """A function that computes with parameters of modules, not with those shaped like them that it is given."""
    tensors = analysis.capture.tensors
    read: dict[int, Op] = {}
    starts = [(tensor, event.at) for tensor in event.returned]
    for op, through in analysis.flow.upstream(starts, lambda _, t: tensors[t].kind != "parameter"):
        if tensors[through].kind == "parameter":
            continue  # What gave the parameter its values.
        read |= {t: op for t in op.inputs if tensors[t].kind == "parameter" and t not in event.tensors}
    own = Counter(tensors[tensor].shape for tensor in read)
    if not read or Counter(tensors[tensor].shape for tensor in event.tensors) - own:
        return None
    first = min(read.values(), key=lambda op: op.index)
    call = analysis.capture.model_call_of(first)
    model = analysis.capture.display_names.layer(call) if call is not None else ""
    names = names_of(analysis, sorted(read))
    called = analysis.user_frames(call.site, "") if call is not None and call.site >= 0 else ()
    return Problem(
        "warning",
        f"torch.func.grad returns zeros: what the function returns is computed from {summarize_names(names)}, not from the tensors that it is differentiated with respect to",
        f"Call {model or 'the model'} with the parameters that are passed to the function: "
        "`torch.func.functional_call(model, params, args)`.",
        analysis.places(
            (first.site if call is None or call.site < 0 else call.site, "computed here"),
            (event, "differentiated here"),
        ),
        tuple(names),
        ops=(first.index,),
        cures=tuple((CallFunctional(place),) for place in called[:1]),
    )


def _not_scalar(analysis: Analysis) -> Iterator[Problem]:
    """torch.func.grad of a function that returns more than one number."""
    capture = analysis.capture
    last = next((op for op in reversed(capture.ops) if op.outputs and not op.error), None)
    shape = list(capture.tensors[last.outputs[0]].shape) if last is not None else []
    made = analysis.user_frames(last.site, "last op of the function") if last is not None and shape else ()
    yield Problem(
        "error",
        "torch.func.grad differentiates functions that return a single number, and this one returns "
        + (f"a tensor of shape {shape}" if shape else "something else"),
        "Reduce the result of the function (`.sum()`, `.mean()`), or use torch.func.jacrev or torch.func.vjp.",
        (*made, *analysis.user_frames(capture.error_site, "transformed function called here")),
        ("torch.func.grad",),
    )


def _random(analysis: Analysis, event: RandomUnderVmap) -> Problem:
    op = next((op for op in reversed(analysis.capture.ops) if says(op.error, TorchError.VMAP_RANDOM)), None)
    what = (
        f"`{op.name}`{_in_layer(analysis, op)} draws random numbers" if op is not None else "random numbers are drawn"
    )
    site = op.site if op is not None else analysis.capture.error_site
    return Problem(
        "error",
        f"{what} under torch.vmap, which was called without randomness=",
        'Pass `randomness="different"` to vmap for separate draws for each sample, or `randomness="same"` for one draw that all samples share.',
        analysis.places((event, "made by vmap here"), (site, "random op called here")),
        ("torch.vmap", *([op.name] if op is not None else [])),
        ops=(op.index,) if op is not None else (),
        cures=tuple(
            (SetArgument(place, "vmap", "randomness", '"different"'),)
            for place in analysis.user_frames(event.site, "")[:1]
        ),
    )


def _in_layer(analysis: Analysis, op: Op) -> str:
    layer = layer_of(analysis, op)
    return f" in {layer}" if layer else ""
