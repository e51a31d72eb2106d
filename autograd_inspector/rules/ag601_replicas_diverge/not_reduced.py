"""AG601 where gradients are not reduced."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.replicas import called_at, names_in_order, steps_here
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.causes import Unreduced, unreduced
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import (
    Communicated,
    ModelSharded,
    ModuleAttached,
    OptimizerCreated,
    ParameterRegistered,
    ReplicasWrapped,
    SamplerIterated,
    WrapperCalled,
)
from autograd_inspector.model.wording import agree, counted, summarize_names


def by_wrappers(analysis: Analysis) -> Iterator[Problem]:
    """What a wrapper manages, and did not reduce."""
    for found in unreduced(analysis.capture, analysis.reductions):
        if found.why == "around":
            yield _around(analysis, found)
        elif found.why == "unsynced" and found.call is not None:
            yield _unsynced(analysis, found, found.call)
        elif found.why == "within" and found.wrapper is not None:
            yield _within(analysis, found, found.wrapper)
        elif found.why == "inside" and found.call is not None:
            yield _inside(analysis, found, found.call)
        elif found.why == "spent" and found.call is not None:
            yield _spent(analysis, found, found.call)


def by_the_program(analysis: Analysis) -> Iterator[Problem]:
    """What the program's own calls reduce too late or too early, and what nothing reduces while others are."""
    for found in unreduced(analysis.capture, analysis.reductions):
        if found.why == "loss" and found.exchange is not None:
            yield _loss(analysis, found, found.exchange)
        elif found.why == "nothing":
            yield _nothing(analysis, found)
        elif found.why == "dropped" and found.exchange is not None:
            yield _dropped(analysis, found, found.exchange)
        elif found.why == "partly" and found.exchange is not None:
            yield _partly(analysis, found, found.exchange)
        elif found.exchange is not None:
            yield _misplaced(analysis, found, found.exchange)
        elif found.why == "beside":
            yield _beside(analysis, found)


def _subject(analysis: Analysis, found: Unreduced) -> tuple[list[str], str]:
    """The names, and how a sentence begins."""
    names = names_in_order(analysis, found)
    optimizer = analysis.capture.placement.optimizers[found.first.step.optimizer].type
    return (
        names,
        f"{optimizer} updates {summarize_names(names)} with {agree(names, 'a gradient', 'gradients')} from this rank only",
    )


def _around(analysis: Analysis, found: Unreduced) -> Problem:
    names, start = _subject(analysis, found)
    kind = found.wrapper.type if found.wrapper is not None else ""
    made = found.wrapper.site if found.wrapper is not None else -1
    return Problem(
        "error",
        f"{start}: the loss comes from a call of the model inside {kind}. Only the forward of {kind} itself prepares "
        "the reduction for the next backward pass, so the replicas diverge",
        "Call the wrapper: `model(x)` instead of `model.module(x)`. If a method of the model computes the loss, call "
        "that method in the model's forward.",
        (
            *called_at(analysis, found, f"called without {kind} here"),
            *steps_here(analysis, found),
            *analysis.user_frames(made, "wrapped here"),
        ),
        tuple(names),
        ops=(found.first.step.op,),
    )


def _unsynced(analysis: Analysis, found: Unreduced, call: WrapperCalled) -> Problem:
    names, start = _subject(analysis, found)
    kind = call.type
    off = analysis.reductions.wrapper_calls.switched_off(call)
    switched: tuple[Location, ...] = ()
    if off is not None:
        switched = analysis.user_frames(off.site, "no_sync() called here")
    how = "in a no_sync() block" if off is not None else "with require_backward_grad_sync=False"
    return Problem(
        "error",
        f"{start}: the last forward of {kind} before the step ran {how}, so its backward pass reduces nothing and the "
        "replicas diverge",
        "Run the forward and backward pass of the last micro-batch before each step outside no_sync(): its backward pass "
        "reduces the accumulated gradients."
        if off is not None
        else "Set require_backward_grad_sync to True before the forward of the last micro-batch of each step.",
        (*switched, *analysis.user_frames(call.site, "forward called here"), *steps_here(analysis, found)),
        tuple(names),
        ops=(found.first.step.op,),
    )


def _within(analysis: Analysis, found: Unreduced, wrapper: ReplicasWrapped) -> Problem:
    names, start = _subject(analysis, found)
    hooks = (hook for hook in analysis.capture.tensor_hooks if hook.post and hook.tensor in found.tensors)
    return Problem(
        "error",
        f"{start}: a hook calls step() as soon as a gradient is accumulated, and {wrapper.type} reduces it later in the same "
        "backward(), so the replicas diverge",
        f"Call step() after backward(). Or call all_reduce on the gradient in the hook, without {wrapper.type}.",
        (
            *analysis.places((found.first.step, "step() called here"), (next(hooks, None), "hook registered here")),
            *steps_here(analysis, found),
        ),
        tuple(names),
        ops=(found.first.step.op,),
    )


def _inside(analysis: Analysis, found: Unreduced, call: WrapperCalled) -> Problem:
    names, start = _subject(analysis, found)
    return Problem(
        "error",
        f"{start}: backward() runs inside the forward of {call.type}, which prepares the reduction only when its forward returns, so "
        "the replicas diverge",
        f"Return the loss from the forward of {call.type}, and call backward() on it afterwards. Or call "
        "`self.manual_backward(loss)` in the training_step of a LightningModule: it prepares the reduction first.",
        (*steps_here(analysis, found), *analysis.user_frames(call.site, "forward called here")),
        tuple(names),
        ops=(found.first.step.op,),
    )


def _spent(analysis: Analysis, found: Unreduced, call: WrapperCalled) -> Problem:
    names, start = _subject(analysis, found)
    if found.first.run.nested_in >= 0:
        return Problem(
            "error",
            f"{start}: {call.type} reduces each gradient once per forward, and the layer runs in several "
            "checkpoints with use_reentrant=True, each of which runs its own backward pass. What later ones add is not "
            "reduced, so the replicas diverge",
            "Pass use_reentrant=False to checkpoint(): then there is one backward pass for all of them.",
            (*analysis.user_frames(_checkpointed(analysis, found), "checkpointed here"), *steps_here(analysis, found)),
            tuple(names),
            ops=(found.first.step.op,),
        )
    return Problem(
        "error",
        f"{start}: one forward of {call.type} prepares one reduction, which the first backward() used. Gradients "
        "from a second backward() are not reduced, so the replicas diverge",
        "Sum the losses and call backward() once, or call the wrapper again for the second loss.",
        (*steps_here(analysis, found), *analysis.user_frames(call.site, "forward called here")),
        tuple(names),
        ops=(found.first.step.op,),
    )


def _checkpointed(analysis: Analysis, found: Unreduced) -> int:
    """The site of the last call of the layer in the forward, which the checkpoint made."""
    ops, (tensor, *_) = analysis.capture.ops, found.tensors
    readers = [ops[at] for at in analysis.capture.readers.get(tensor, ()) if at < found.first.run.start]
    return next((op.site for op in reversed(readers) if not op.has(Trait.BACKWARD)), -1)


def _misplaced(analysis: Analysis, found: Unreduced, exchange: Communicated) -> Problem:
    names, start = _subject(analysis, found)
    call = exchange.name
    late = found.why == "late"
    where = "after step()" if late else "before backward()"
    return Problem(
        "error",
        f"{start}: {call} is called on {agree(names, 'it', 'them')} {where}, so the replicas diverge",
        f"Call {call} between backward() and step().",
        (*analysis.user_frames(exchange.site, f"{call} called here, {where}"), *steps_here(analysis, found)),
        tuple(names),
        ops=(found.first.step.op, exchange.at),
    )


def _beside(analysis: Analysis, found: Unreduced) -> Problem:
    names, start = _subject(analysis, found)
    reductions = analysis.reductions
    together = {t for each in reductions.reached if each.step == found.first.step for t in each.reduced}
    reduced = sorted(together or {t for each in reductions.reached for t in each.reduced})
    by_hand = any(each.by_hand for each in reductions.reached)
    calls = [event for event in reductions.exchanges.within(found.first.run.start, found.first.step.at) if event.op]
    others = f"{counted(len(reduced), 'other parameter')} {agree(reduced, 'is', 'are')} reduced"
    sharder = _sharder(analysis, found)
    if sharder is not None:
        why = f"the parameters that fully_shard() manages are reduced, but {agree(names, 'this one is', 'these are')} not among them"
        fix = (
            "Let fully_shard() manage them too (omit ignored_params, call it on the module that contains them). Or call "
            "all_reduce on their gradients between backward() and step(), and divide by the number of ranks."
        )
    elif by_hand:
        why = f"{others} by the program's calls, but {agree(names, 'this one is', 'these are')} not"
        fix = "Reduce the gradients of all parameters that the optimizer holds: loop over `optimizer.param_groups`."
    else:
        why = f"{others} by DistributedDataParallel, but {agree(names, 'this one is', 'these are')} outside it"
        fix = (
            "Wrap the module that has them too, preferably one module that contains both and computes the loss in its forward. Or "
            "call all_reduce on their gradients between backward() and step()."
        )
    return Problem(
        "warning",
        f"{start}: {why}, so the ranks continue with different values of {agree(names, 'it', 'them')}",
        fix,
        (
            *analysis.places(
                *((site, "added here") for site in _attached(analysis, found)),
                *((event, f"{event.name} called on the others here") for event in (calls[:1] if by_hand else ())),
            ),
            *called_at(analysis, found, "used here"),
            *steps_here(analysis, found),
            *analysis.places((sharder, "sharded here")),
        ),
        tuple(names),
        ops=(found.first.step.op,),
    )


def _attached(analysis: Analysis, found: Unreduced) -> list[int]:
    """The lines that gave a model parameters of those after the others were sharded."""
    sharder = _sharder(analysis, found)
    if sharder is None:
        return []
    tensors = set(found.tensors)
    attached = [event for event in analysis.capture.events_of(ModuleAttached) if tensors & set(event.tensors)]
    made = [event for event in analysis.capture.events_of(ParameterRegistered) if event.tensor in tensors]
    return list(dict.fromkeys(event.site for event in (*attached, *made) if event.at > sharder.at))


def _sharder(analysis: Analysis, found: Unreduced) -> ModelSharded | None:
    """What shards the others: the call that left these alone, else any."""
    models = analysis.reductions.sharded_models if analysis.reductions.shards_meant else ()
    leaving = (event for event in models if set(found.tensors) <= set(event.ignored))
    return next(leaving, models[-1] if models else None)


def _dropped(analysis: Analysis, found: Unreduced, exchange: Communicated) -> Problem:
    names, start = _subject(analysis, found)
    what = "returns a new tensor" if exchange.results else "is called on a copy"
    return Problem(
        "error",
        f"{start}: {exchange.name} {what}, and its result is never written to `.grad`, so the replicas diverge",
        "Copy the result into the gradients before step(): `p.grad.copy_(result)`. Or reduce `p.grad` itself: "
        "`dist.all_reduce(p.grad)`.",
        (*analysis.user_frames(exchange.site, f"{exchange.name} called here"), *steps_here(analysis, found)),
        tuple(names),
        ops=(found.first.step.op, exchange.at),
    )


def _partly(analysis: Analysis, found: Unreduced, exchange: Communicated) -> Problem:
    names, start = _subject(analysis, found)
    return Problem(
        "error",
        f"{start}: {exchange.name} was given {agree(names, 'it', 'them')} together with others, but nothing writes a sum over "
        f"{agree(names, 'it', 'all of them')} before step(), so the replicas diverge",
        "Reduce all of them on every rank with all_reduce. Or let each rank step only the part that it has the sum of, and "
        "send the updated weights to the other ranks.",
        (*analysis.user_frames(exchange.site, f"{exchange.name} called here"), *steps_here(analysis, found)),
        tuple(names),
        ops=(found.first.step.op, exchange.at),
    )


def _loss(analysis: Analysis, found: Unreduced, exchange: Communicated) -> Problem:
    names, start = _subject(analysis, found)
    return Problem(
        "error",
        f"{start}: {exchange.name} is called on the loss, which "
        + (
            "averages its value over the ranks and returns to each the gradient of the loss that it computed: no parameter's gradient is "
            if exchange.inside
            else "sums its value over the ranks but does not reduce its gradient, "
        )
        + ("reduced, so the replicas diverge" if exchange.inside else "so the replicas diverge"),
        f"Call {exchange.name} on the gradients, between backward() and step(), and on a `loss.detach().clone()` for "
        "logging. Or wrap the model in DistributedDataParallel.",
        (
            *analysis.user_frames(exchange.site, f"{exchange.name} of the loss called here"),
            *steps_here(analysis, found),
        ),
        tuple(names),
        ops=(found.first.step.op, exchange.at),
    )


def _nothing(analysis: Analysis, found: Unreduced) -> Problem:
    names, start = _subject(analysis, found)
    shown = analysis.reductions.alike
    shared = isinstance(shown, SamplerIterated)
    why = "the ranks use parts of one dataset" if shared else "the ranks got the same weights"
    what = "data split across ranks here" if shared else "weights sent to the other ranks here"
    but = "but neither gradients nor weights are ever reduced, so the models diverge"
    if isinstance(shown, OptimizerCreated):
        why = f"{shown.type} broadcasts the weights that each rank updates"
        but = "but nothing reduces the gradients, so each weight learns from the data of one rank"
        what = "optimizer created here"
    return Problem(
        "warning",
        f"{start}: {why}, {but}",
        "Wrap the model: `DistributedDataParallel(model)`, and call the wrapper. Or call all_reduce on the gradients "
        "between backward() and step().",
        (
            *analysis.places((found.first.step, "step() called here")),
            *steps_here(analysis, found),
            *called_at(analysis, found, "used here"),
            *analysis.places((shown, what)),
        ),
        tuple(names),
        ops=(found.first.step.op,),
    )
