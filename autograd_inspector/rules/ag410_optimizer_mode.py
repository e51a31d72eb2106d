"""AG410: schedule-free optimizers in the wrong mode."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.callers import called_on
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.model.event import Step
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import ModuleCall, Op, Trait
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import ModeSwitched, StateLoaded
from autograd_inspector.model.remedy import Insert, Remedies


def check(analysis: Analysis) -> Iterator[Problem]:
    """A schedule-free optimizer is in the wrong mode: `optimizer.train()` or `optimizer.eval()` is missing.

    Why it matters
        Schedule-free optimizers keep two sets of weights and swap them in `train()` and `eval()`. In the wrong mode,
        step() raises, and evaluation or a checkpoint uses the wrong set of weights. `load_state_dict` restores the mode
        in which the checkpoint was saved, so call `train()` after it.

    Example
        ::

            optimizer = schedulefree.AdamWScheduleFree(net.parameters())
            net(x).pow(2).mean().backward()
            optimizer.step()

    Fix
        ::

            optimizer = schedulefree.AdamWScheduleFree(net.parameters())
            optimizer.train()
            net(x).pow(2).mean().backward()
            optimizer.step()

    References
        The schedule_free project's README, "How to use".
    """
    optimizers = analysis.capture.placement.optimizers
    for step in analysis.capture.steps:
        optimizer = optimizers[step.optimizer]
        if step.error and analysis.timeline.trains(step.optimizer, step.start) is False:
            yield _step_in_eval_mode(analysis, optimizer, step)
    for optimizer in optimizers:
        yield from _looked_at_in_train_mode(analysis, optimizer)


def _step_in_eval_mode(analysis: Analysis, optimizer: OptimizerRecord, step: Step) -> Problem:
    trained = analysis.timeline.trained_before(optimizer.id, step.start)
    name = variable(analysis, optimizer)
    back = _loaded_in_eval_mode(analysis, optimizer, step)
    switch = _switched(analysis, optimizer, step) if trained else None
    if back is not None and switch is not None and switch.index >= back.at:
        back = None
    if back is not None:
        switch = None
        why = f"{back.api} restored the mode in which it was saved (train_mode is in its param_groups)"
        fix = f"Call {name}.train() after {name}.load_state_dict(...); saving in eval mode is correct."
    else:
        why = f"{name}.train() " + (f"was not called after {name}.eval()" if trained else "was never called")
        fix = f"Call {name}.train() before training (next to model.train()) and {name}.eval() before evaluation."
    return Problem(
        "error",
        f"{optimizer.type}.step() was called in eval mode: {why}",
        fix,
        (
            *analysis.places((back, "loaded here, including the mode"), (switch, "switched to eval mode here")),
            *_model_switched(analysis, optimizer, step.start, training=True),
            *analysis.places((optimizer, "optimizer created here"), (step, "step() called here")),
        ),
        (optimizer.type, "train()"),
        ops=(step.op,),
        cures=tuple(_switched_back(analysis, optimizer, step, back.site if back is not None else -1)),
        safe=True,
    )


def _switched_back(analysis: Analysis, optimizer: OptimizerRecord, step: Step, loaded: int) -> Iterator[Remedies]:
    name = variable(analysis, optimizer)
    stepped = called_on(analysis.capture.place(step.site), "step") or name
    places = [analysis.capture.place(site) for site in (loaded, optimizer.site) if site >= 0]
    if not analysis.timeline.trained_before(optimizer.id, step.start) or loaded >= 0:
        yield from ((Insert(place, f"{name}.train()", "behind"),) for place in places if place is not None)
    if (at := analysis.capture.place(step.site)) is not None:
        yield (Insert(at, f"{stepped}.train()"),)


def _model_switched(analysis: Analysis, optimizer: OptimizerRecord, at: int, *, training: bool) -> tuple[Location, ...]:
    """Where the model was put into that mode last, before an op, and its optimizer was not."""
    models = {analysis.capture.owners.get(tensor, -1) for tensor in optimizer.held}
    switches = [s for s in analysis.capture.events_of(ModeSwitched) if s.model in models and s.at <= at]
    if not switches or switches[-1].training is not training:
        return ()
    mode = "train" if training else "eval"
    return analysis.user_frames(switches[-1].site, f"model alone put into {mode} mode here")


def _loaded_in_eval_mode(analysis: Analysis, optimizer: OptimizerRecord, step: Step) -> StateLoaded | None:
    """The last load before a step, where it ended the train mode."""
    loads = [load for load in analysis.timeline.loads_of(optimizer.id).all if load.at <= step.at]
    return loads[-1] if loads and loads[-1].left_training else None


def _switched(analysis: Analysis, optimizer: OptimizerRecord, step: Step) -> Op | None:
    """The last op before a step with which `eval()` put other weights in place: it stands for that call."""
    held, sites = frozenset(optimizer.held), analysis.capture.sites
    writes = (
        op
        for op in reversed(analysis.capture.ops[: step.start])
        if not op.has(Trait.STEP) and op.site >= 0 and any(write.tensor in held for write in op.writes)
    )
    return next((op for op in writes if any(_is_eval(frame) for frame in sites[op.site].frames)), None)


def _is_eval(frame: Location) -> bool:
    return frame.function.rpartition(".")[2] == "eval"


def _looked_at_in_train_mode(analysis: Analysis, optimizer: OptimizerRecord) -> Iterator[Problem]:
    """A model in eval mode ran without grad, or its state_dict was taken, while the optimizer was in train mode."""
    capture = analysis.capture
    held = set(optimizer.held)
    if analysis.timeline.trains(optimizer.id, len(capture.ops)) is None:
        return
    steps = [s for s in capture.steps if s.optimizer == optimizer.id and not s.error]
    reported_looks: set[str] = set()
    for op in capture.ops:
        what = _looks(analysis, op) if held.intersection(op.inputs) and not op.has(Trait.STEP | Trait.BACKWARD) else ""
        before = [s for s in steps if s.at < op.index]
        if not what or what in reported_looks or not before or not analysis.timeline.trains(optimizer.id, op.index):
            continue
        reported_looks.add(what)
        call = capture.model_call_of(op)
        yield Problem(
            "warning",
            f"the model was {what} while {optimizer.type} was in train mode: these are the weights at which the next "
            "gradient is computed, not the averaged weights that the method returns",
            "Call optimizer.eval() before evaluating or saving (next to model.eval()), and optimizer.train() afterwards.",
            (
                *(_model_switched(analysis, optimizer, op.index, training=False) if what == "evaluated" else ()),
                *analysis.places(
                    (call, f"{what} here"),
                    (op, f"{what} here"),
                    (before[-1], "last step before that"),
                    (optimizer, "optimizer created here"),
                ),
            ),
            (optimizer.type, "eval()"),
            ops=(op.index,),
            cures=tuple(_averaged(analysis, optimizer, op, call, later=steps[-1].start > op.index)),
        )


def _averaged(
    analysis: Analysis, optimizer: OptimizerRecord, op: Op, call: ModuleCall | None, *, later: bool
) -> Iterator[Remedies]:
    """The averaged weights are in place while the model is looked at, in the function that has the optimizer."""
    name = variable(analysis, optimizer)
    for place in analysis.user_frames(op.site if call is None else call.site, ""):
        back = (Insert(place, f"{name}.train()", "behind"),) if later else ()
        yield (Insert(place, f"{name}.eval()"), *back)


def _looks(analysis: Analysis, op: Op) -> str:
    """What the op is part of: "evaluated", "saved", or "" for neither."""
    if op.call >= 0:
        outside = analysis.capture.regions[op.region].kind != "enabled"
        return "evaluated" if outside and not analysis.capture.calls[op.call].training else ""
    return "saved" if analysis.capture.sites[op.site].through == "Module.state_dict" and op.name == "detach" else ""
