"""AG109: gradient that flows where the program learns by other means."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.optimizers import required
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.callers import callee
from autograd_inspector.analysis.gradients.mixed_losses import Mixed, entrance, mixed
from autograd_inspector.analysis.memory.overwritten_parameters import overwritten
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op
from autograd_inspector.model.program_events import PlainAttributeSet
from autograd_inspector.model.remedy import Insert, Remedies
from autograd_inspector.model.wording import agree, summarize_names
from autograd_inspector.rules.ag109_unwanted_gradient.loss_weight import trained_weights
from autograd_inspector.rules.ag109_unwanted_gradient.measured_twice import without_a_constant
from autograd_inspector.rules.ag109_unwanted_gradient.moving_constants import moving_constants
from autograd_inspector.rules.ag109_unwanted_gradient.other_threads import in_other_threads
from autograd_inspector.rules.ag109_unwanted_gradient.own_reference import own_reference
from autograd_inspector.rules.ag109_unwanted_gradient.pulled_back import pulled_back
from autograd_inspector.rules.ag109_unwanted_gradient.shared_target import shared_with_the_teacher
from autograd_inspector.rules.ag109_unwanted_gradient.trained_target import learning_teachers
from autograd_inspector.rules.ag109_unwanted_gradient.written_target import filled_targets
from autograd_inspector.rules.ag109_unwanted_gradient.written_values import written_values


def check(analysis: Analysis) -> Iterator[Problem]:
    """Gradient flows into something that should not be trained: a target network, a teacher, the weight of a loss term.

    Why it matters
        A target network is updated by copying. Without `no_grad` or `detach`, backward also runs through it: it spends
        memory and time on gradients that no optimizer uses and no zero_grad() clears, and an optimizer or a norm that
        uses them later gets gradients of another loss. If the weight of a loss term is a trainable parameter, every
        step shrinks it, because that lowers the loss.

    Example
        ::

            target = copy.deepcopy(net)
            loss = (net(x) - target(x).amax(1, keepdim=True)).pow(2).mean()
            loss.backward()
            optimizer.step()

    Fix
        ::

            target = copy.deepcopy(net).requires_grad_(False)
            loss = (net(x) - target(x).amax(1, keepdim=True)).pow(2).mean()
            loss.backward()
            optimizer.step()

    References
        torch.no_grad; Mnih et al., "Human-level control through deep reinforcement learning", 2015 (target networks).
    """
    yield from _stepped(analysis)
    yield from in_other_threads(analysis)
    yield from trained_weights(analysis)
    yield from learning_teachers(analysis)
    yield from shared_with_the_teacher(analysis)
    yield from own_reference(analysis)
    yield from moving_constants(analysis)
    yield from filled_targets(analysis)
    yield from pulled_back(analysis)
    yield from without_a_constant(analysis)
    yield from map(partial(_summed, analysis), mixed(analysis))
    copies = analysis.trained_beside_copies
    if not copies or analysis.copies_used:
        return
    written = list(written_values(analysis, copies))
    if written:
        yield from written
        return
    names = [name_of(analysis, t) for t in copies]
    plain = [e for e in analysis.capture.events_of(PlainAttributeSet) if set(e.tensors) & set(copies)]
    why = f" (`.{plain[0].attribute} = False` on a module, or a misspelled attribute, freezes nothing)" if plain else ""
    yield Problem(
        "warning",
        f"backward reaches {summarize_names(names)}, a copy that no optimizer holds: a target network or teacher that was not "
        f"detached{why}",
        "Call it under torch.no_grad(), detach() its output, or freeze the copy: requires_grad_(False).",
        (*analysis.places(*((event, "freezes nothing here") for event in plain[:1])), *_places(analysis, copies)),
        tuple(names),
        cures=tuple(_frozen(analysis, copies)),
    )


def _stepped(analysis: Analysis) -> Iterator[Problem]:
    """A copy within the optimizer: what a step changes in it the next refresh throws away."""
    overwrites = overwritten(analysis.capture, analysis.flow)
    if not overwrites:
        return
    copies, last = (
        list(dict.fromkeys(each.tensor for each in overwrites)),
        max(each.ops[-1].index for each in overwrites),
    )
    names = [name_of(analysis, t) for t in copies]
    sources = summarize_names(name_of(analysis, each.source) for each in overwrites)
    yield Problem(
        "warning",
        f"backward reaches {summarize_names(names)}, and an optimizer steps {agree(copies, 'it', 'them')}, although the program "
        f"overwrites {agree(copies, 'it', 'them')} with the values of {sources} again and again: a target network or teacher "
        "that was not detached",
        f"Call it under torch.no_grad() or detach() its output, freeze it with requires_grad_(False), and pass only the trained parameters to the optimizer ({sources}).",
        (*_places(analysis, copies), *analysis.user_frames(analysis.capture.ops[last].site, "overwritten here")),
        tuple(names),
        cures=tuple(_frozen(analysis, copies)),
    )


def _summed(analysis: Analysis, mixed_round: Mixed) -> Problem:
    """A generator that steps with the gradients of the discriminator's loss and of its own."""
    names, others = (
        [name_of(analysis, t) for t in mixed_round.tensors],
        summarize_names(name_of(analysis, t) for t in sorted(mixed_round.others)),
    )
    return Problem(
        "warning",
        f"{summarize_names(names)} {agree(names, 'is', 'are')} updated with gradients of two losses: the loss that {others} stepped "
        f"with reaches {agree(names, 'it', 'them')} as well, and nothing clears what it leaves before the backward() of "
        f"{agree(names, 'its', 'their')} own loss",
        f"detach() what is computed with {summarize_names(names)} where it goes into the loss of {others}, or clear the gradients "
        "(zero_grad()) right before the second backward().",
        (
            *analysis.user_frames(entrance(analysis, mixed_round), "given to it with its graph here"),
            *analysis.places(
                (mixed_round.foreign, "leaves gradients here"),
                (mixed_round.own_run, "adds to them here"),
                (mixed_round.step, "step() uses the sum here"),
            ),
        ),
        tuple(names),
    )


def _frozen(analysis: Analysis, copies: Collection[int]) -> Iterator[Remedies]:
    """The copy is frozen before the loop that calls it, where the model that is called there has nothing else."""
    use = _first_use(analysis, copies)
    if use is None or _reads_others(analysis, use, copies):
        yield from required(analysis, copies, grad=False)
        return
    site = analysis.capture.outermost_call(use.call).site
    called = callee(analysis.capture.place(site))
    for place in analysis.user_frames(site, "")[:1] if called else ():
        yield (Insert(place, f"{called}.requires_grad_(False)", outside_loops=True),)
        yield (Insert(place, f"{called}.requires_grad_(False)"),)


def _first_use(analysis: Analysis, copies: Collection[int]) -> Op | None:
    """The first op of a model that reads one of them."""
    return next((op for op in analysis.capture.ops if set(copies) & set(op.inputs) and op.call >= 0), None)


def _reads_others(analysis: Analysis, use: Op, copies: Collection[int]) -> bool:
    """Whether the same model computes with parameters that are no copies: these are trained."""
    calls, tensors = analysis.capture.calls, analysis.capture.tensors
    return any(
        tensors[t].kind == "parameter" and t not in copies
        for op in analysis.capture.ops
        if op.call >= 0 and calls[op.call].root == calls[use.call].root
        for t in op.inputs
    )


def _places(analysis: Analysis, copies: Collection[int]) -> Iterator[Location]:
    """Where the copies are called and used, and the backward that comes back through them."""
    use = _first_use(analysis, copies)
    if use is not None:
        yield from analysis.user_frames(analysis.capture.outermost_call(use.call).site, "called with grad mode on here")
        yield from analysis.user_frames(use.site, "used here")
    runs = analysis.capture.completed_runs
    yield from analysis.user_frames(runs[-1].site, "backward called here") if runs else ()
