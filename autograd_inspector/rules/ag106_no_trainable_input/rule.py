"""AG106: nothing that reaches the loss requires grad."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from autograd_inspector.advice.naming import is_named, name_of, names_of
from autograd_inspector.advice.remedies.checkpoints import not_reentrant
from autograd_inspector.advice.remedies.meeting import meeting_of
from autograd_inspector.advice.spelling import is_path, method_on
from autograd_inspector.advice.toggled import left_toggled, to_untoggle, untoggled
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.callers import called_on
from autograd_inspector.analysis.failed_reads import last_read
from autograd_inspector.analysis.gradient_cuts.asked_in_vain import asked_in_vain, made_in_engine
from autograd_inspector.analysis.gradient_cuts.classifier import differentiable
from autograd_inspector.analysis.gradients.reentrant_checkpoints import (
    parameters_inside,
    reentrant_checkpoint,
    within_checkpoint,
)
from autograd_inspector.analysis.modules.parameter_origins import frozen_here
from autograd_inspector.analysis.ops_of import calls_of
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op
from autograd_inspector.model.remedy import Insert, Remedies, Remove
from autograd_inspector.model.torch_errors import TorchError, says
from autograd_inspector.model.torch_names import CHECKPOINT
from autograd_inspector.model.wording import agree, join_names, summarize_names
from autograd_inspector.rules.ag106_no_trainable_input.bypassed import bypassed
from autograd_inspector.rules.ag106_no_trainable_input.optimizer_without_trainable import (
    asked,
    idle_optimizers,
    why_frozen,
)
from autograd_inspector.rules.ag106_no_trainable_input.zero_factors import frozen_at_zero


def check(analysis: Analysis) -> Iterator[Problem]:
    """Nothing that reaches the loss requires grad: everything is frozen, or a reentrant checkpoint got no grad input.

    Why it matters
        Backward needs at least one leaf that requires grad. Reentrant checkpointing (`use_reentrant=True`) only records
        if one of its *inputs* requires grad, even if its parameters do. An optimizer whose parameters do not require
        grad (an image, a prompt) has nothing to step, even if backward runs for other leaves.

    Example
        ::

            for parameter in net.parameters():
                parameter.requires_grad = False
            net(x).pow(2).mean().backward()

    Fix
        ::

            for parameter in net[0].parameters():
                parameter.requires_grad = False
            net(x).pow(2).mean().backward()

    References
        torch.utils.checkpoint.checkpoint (use_reentrant); torch.nn.Module.requires_grad_.
    """
    for run in asked_in_vain(analysis.capture):
        if made_in_engine(analysis.capture, run) is None:
            checkpoint = reentrant_checkpoint(analysis, run)
            if checkpoint is not None:
                yield _checkpoint_finding(analysis, [checkpoint], run, parameters_inside(analysis, checkpoint))
            elif not any(
                cut.cause != "no_grad" or not within_checkpoint(analysis, cut) for cut in analysis.harmful_cuts
            ):
                yield _all_frozen(analysis, run)
    for run in analysis.capture.backwards:
        if says(run.error, TorchError.NOT_DIFFERENTIABLE_ASKED):
            yield _not_asked(
                analysis, [t for t in run.reached if not analysis.capture.tensors[t].requires_grad], run.site
            )
    yield from _idle_checkpoints(analysis)
    yield from _never_computed(analysis)
    yield from idle_optimizers(analysis)
    yield from frozen_at_zero(analysis)


def _idle_checkpoints(analysis: Analysis) -> Iterator[Problem]:
    """Reentrant checkpoints that starve parameters while backward has others to run to."""
    runs = analysis.capture.completed_runs
    groups: dict[int, list[Op]] = {}
    for op in calls_of(analysis.capture, CHECKPOINT):
        if not any(analysis.capture.tensors[t].requires_grad for t in op.outputs):
            groups.setdefault(op.site, []).append(op)
    for members in groups.values():
        starved = [t for op in members for t in parameters_inside(analysis, op) if t in analysis.without_gradient]
        if starved and runs:
            yield _checkpoint_finding(analysis, members, runs[-1], starved)


def _checkpoint_finding(analysis: Analysis, ops: list[Op], run: Backward, inside: list[int]) -> Problem:
    names = [name_of(analysis, tensor) for tensor in inside]
    return Problem(
        "error" if run.error else "warning",
        f"checkpoint(use_reentrant=True) got no input that requires grad, so its output has no graph although "
        f"{summarize_names(names) or 'its parameters'} {agree(names, 'requires', 'require')} grad",
        "Pass use_reentrant=False, or let an input require grad (model.enable_input_require_grads()).",
        analysis.places((ops[0], "checkpointed here"), (run, "backward called here")),
        tuple(names),
        ops=tuple(op.index for op in ops[:64]),
        cures=tuple(not_reentrant(analysis, ops[0])),
    )


def _all_frozen(analysis: Analysis, run: Backward) -> Problem:
    capture = analysis.capture
    above = list(analysis.flow.upstream([(root, run.start) for root in run.roots]))
    inputs = dict.fromkeys(t for op, _ in above for t in op.inputs if capture.tensors[t].kind == "parameter")
    frozen = [t for t in inputs if not capture.tensors[t].requires_grad]
    led = dict.fromkeys(t for op, _ in above for t in op.inputs)
    learnt = tuple(t for t in led if t in capture.optimized and not analysis.lifecycle.requires_grad_at(t, run.start))
    frozen = [*learnt, *(t for t in frozen if t not in learnt)]
    names = [name_of(analysis, t) for t in frozen]
    roots = join_names((_root(analysis, run, t) for t in run.roots), 2)
    named_sources = list(dict.fromkeys(t for op, _ in above for t in op.inputs if _is_named_source(analysis, t)))
    sources = [capture.tensors[t].variable for t in named_sources]
    made_at = [op for op in map(analysis.flow.birth, named_sources) if op is not None and not names]
    since = f"{summarize_names(names)} {agree(names, 'is', 'are')} frozen" if names else "it uses no parameter"
    if 0 < len(learnt) < len(names):
        since += f"; the optimizer holds {summarize_names(names[: len(learnt)])}"
    if sources and not names:
        since += f", only {join_names(sources, 4)}"
    left, calls = ((), ()) if learnt else bypassed(analysis, run, (op for op, _ in above))
    left_names = names_of(analysis, left)
    if left:
        since += (
            f"; {summarize_names(left_names)}, which the optimizer holds, {agree(left, 'is', 'are')} not used in it"
        )
    made = analysis.user_frames(above[0][0].site, "computed here") if above else ()
    toggled = left_toggled(analysis, inputs, run.start)
    return Problem(
        "error",
        f"nothing that {roots} depends on requires grad: {since}",
        to_untoggle(toggled)
        if toggled
        else asked(analysis, learnt)
        if learnt
        else "Call the model so that its trained part runs: with the adapter enabled, through the trained branch."
        if left
        else "Call requires_grad_(True) before the forward on the parameters to train, or on the input whose gradient you need."
        if names
        else "Compute the loss from something trainable: a parameter, or a tensor with requires_grad=True.",
        (
            *(place for each in toggled for place in analysis.user_frames(each.site, "toggled here")),
            *(why_frozen(analysis, learnt) if learnt else ()),
            *_given_to(analysis, learnt),
            *calls,
            *frozen_here(analysis, inputs, until=run.start),
            *made,
            *analysis.places(
                *((op, "made here, without requires_grad") for op in made_at[:3]),
                (run, "backward called here" if run.index >= 0 else "gradient requested here"),
            ),
        ),
        (*left_names, *names) or tuple(names_of(analysis, run.roots)),
        cures=(
            *untoggled(toggled),
            *_thawed_again(analysis, learnt, frozen, run),
            *_thawed(analysis, inputs, run),
        ),
    )


def _thawed_again(analysis: Analysis, learnt: tuple[int, ...], frozen: list[int], run: Backward) -> Iterator[Remedies]:
    """What the optimizer was given requires grad again, where more was frozen than that: a base under its adapters."""
    holders = [o for o in analysis.capture.placement.optimizers if set(learnt) <= set(o.held)]
    if not learnt or len(holders) != 1 or set(frozen) <= set(holders[0].held):
        return
    changes = analysis.lifecycle.frozen(learnt, until=run.start)
    pair = meeting_of(
        [f for change in changes[-1:] for f in analysis.capture.site(change.site)],
        analysis.capture.site(holders[0].site),
    )
    own = variable(analysis, holders[0])
    text = f'for group in {own}.param_groups:\n    for p in group["params"]:\n        p.requires_grad_(True)'
    if pair is not None:
        yield (Insert(max(pair, key=lambda place: place.lineno), text, "behind", once=True),)


def _thawed(analysis: Analysis, tensors: Iterable[int], run: Backward) -> Iterator[Remedies]:
    """Without the statement that froze them."""
    changes = analysis.lifecycle.frozen(tensors, until=run.start)
    # What a library froze in a call of the program it froze for a reason of its own.
    sites = [
        change.site for change in changes[-1:] if not any(f.library for f in analysis.capture.site(change.site)[:1])
    ]
    yield from ((Remove(place),) for site in sites for place in analysis.user_frames(site, "")[:1])


def _root(analysis: Analysis, run: Backward, root: int) -> str:
    """The name of what backward was called on; of one that has none what the call reads: ``out.loss``."""
    receiver = called_on(analysis.capture.place(run.site), "backward") if len(run.roots) == 1 else ""
    return name_of(analysis, root) if not receiver or is_named(analysis, root) else receiver


def _given_to(analysis: Analysis, tensors: tuple[int, ...]) -> list[Location]:
    optimizers = analysis.capture.placement.optimizers
    holders = [o for o in optimizers if any(t in group for group in o.parameters for t in tensors)]
    return [place for o in holders for place in analysis.user_frames(o.site, "given to the optimizer here")]


def _is_named_source(analysis: Analysis, tensor: int) -> bool:
    """Whether the program made a tensor from nothing, or had it before, and gave it a name."""
    record = analysis.capture.tensors[tensor]
    made = analysis.capture.ops[record.birth] if record.birth >= 0 else None
    fresh = not made.inputs if made is not None else record.kind == "input"
    return fresh and bool(record.variable) and not record.requires_grad and differentiable(record.dtype)


def _never_computed(analysis: Analysis) -> Iterator[Problem]:
    """The program fell over the None that it read from ``.grad`` of a tensor that does not require grad."""
    read = last_read(analysis.capture)
    if read is None:
        return
    record = analysis.capture.tensors[read.tensor]
    if not record.requires_grad and record.kind in {"input", "activation"}:
        yield _not_asked(analysis, [read.tensor], read.site)


def _not_asked(analysis: Analysis, tensors: list[int], site: int) -> Problem:
    names = names_of(analysis, tensors)
    made = [op for op in map(analysis.flow.birth, tensors) if op is not None]
    return Problem(
        "error",
        f"the gradient of {join_names(names, 3)} was requested, but {agree(names, 'it does', 'they do')} not "
        "require grad",
        f"Call {method_on(names[0] if names else 'the tensor', 'requires_grad_()')} before the forward that uses it.",
        analysis.places((site, "gradient requested here"), *((op, "made here") for op in made[:1])),
        tuple(names),
        cures=tuple(_asked_for(analysis, tensors)),
    )


def _asked_for(analysis: Analysis, tensors: list[int]) -> Iterator[Remedies]:
    """The tensor requires grad by the time that something is computed from it."""
    record = analysis.capture.tensors[tensors[0]] if len(tensors) == 1 else None
    reader = analysis.lifecycle.first_reader(tensors[0]) if record is not None else None
    if record is not None and reader is not None and is_path(record.variable) and differentiable(record.dtype):
        frames = analysis.user_frames(reader.site, "")
        yield from ((Insert(place, f"{record.variable}.requires_grad_()"),) for place in reversed(frames))
