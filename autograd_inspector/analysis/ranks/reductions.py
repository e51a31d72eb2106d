"""Whether each gradient that a step was given was reduced over the ranks between its backward and the step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from msgspec import Struct

from autograd_inspector.analysis.ranks.exchanges import Exchanges
from autograd_inspector.analysis.ranks.losses import averages_loss
from autograd_inspector.analysis.ranks.own_parts import left_own
from autograd_inspector.analysis.ranks.wrapper_calls import WrapperCalls
from autograd_inspector.analysis.timeline import Timeline
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.event import ParameterStep, Step
from autograd_inspector.model.placement_rows import HERE
from autograd_inspector.model.program_events import (
    Awaited,
    Communicated,
    GradientsLeftLocal,
    ModelSharded,
    OptimizerCreated,
    ProgramEvent,
    ReplicasWrapped,
    SamplerIterated,
)

Gradients = Mapping[int, frozenset[int]]
"""Tensor -> the tensors that were seen as its gradient."""


class Reached(Struct, frozen=True):
    """The parameters of one step whose gradient came last by one backward."""

    step: Step
    run: Backward
    reduced: tuple[int, ...]
    """By a wrapper or by the program's own calls."""
    local: tuple[int, ...]
    by_hand: bool
    """Some by the program's own calls."""
    dropped: tuple[int, ...] = ()
    """Of the local ones those of which a copy was reduced, while the gradient itself stayed as it was."""
    partly: tuple[int, ...] = ()
    """Of the local ones those that went into an exchange with others, and got sums back for some elements, or none."""


class Reductions:
    """Answers for a capture of more than one rank; nothing is asked of any other."""

    def __init__(self, capture: Capture, timeline: Timeline, gradients: Callable[[], Gradients]) -> None:
        self._capture = capture
        self.timeline = timeline
        self._gradients = gradients
        self.exchanges = Exchanges(capture)
        self._means: dict[int, Communicated | None] = {}
        self.wrappers = {wrapper.wrapper: wrapper for wrapper in capture.events_of(ReplicasWrapped)}
        self.wrapper_of = {tensor: wrapper for wrapper in self.wrappers.values() for tensor in wrapper.tensors}
        self.wrapper_calls = WrapperCalls(capture, timeline)
        self._left = {event.run: event for event in capture.events_of(GradientsLeftLocal)}
        self.sharded_models = capture.events_of(ModelSharded)

    @property
    def several_ranks(self) -> bool:
        """Whether anything is exchanged, or meant to be."""
        return bool(self.wrappers or self.sharded_models or self.exchanges.calls) or self._capture.world_size > 1

    @cached_property
    def reached(self) -> tuple[Reached, ...]:
        """Of each step, what each of the backwards before it brought."""
        return tuple(self._reached()) if self.several_ranks else ()

    def _reached(self) -> Iterator[Reached]:
        for step in self._capture.steps:
            if step.error:
                continue  # Its closure may have raised before its backward came to an end.
            by_run: dict[int, tuple[Backward, list[ParameterStep]]] = {}
            for parameter in step.parameters:
                run = self.last_run(parameter, step)
                if run is not None and not parameter.frozen:
                    by_run.setdefault(run.index, (run, []))[1].append(parameter)
            for run, parameters in by_run.values():
                yield self._by_one(step, run, parameters)

    def last_run(self, parameter: ParameterStep, step: Step) -> Backward | None:
        """The last backward that reached a parameter before a step that was given a gradient of it."""
        if parameter.gradient < 0 or parameter.tensor in self._sharded:
            return None
        runs = self.timeline.backwards_to(parameter.tensor)
        return next(iter(runs.before(step.updates_from + 1)), None)

    @cached_property
    def _sharded(self) -> frozenset[int]:
        """What is reduced where it is sharded, by what shards it."""
        rows = self._capture.placement.rows
        return self.flattened | {row.tensor for row in rows if row.sharding is not None}

    @cached_property
    def flattened(self) -> frozenset[int]:
        """What a FullyShardedDataParallel holds as parts of one flat parameter, whose gradient is all of theirs."""
        return frozenset(tensor for event in self.sharded_models if event.flat for tensor in event.tensors)

    def left_local(self, tensor: int, reached: Reached) -> Backward | None:
        """The first backward since the step before whose gradient of a parameter nothing reduced until the last one ran."""
        earlier = self.timeline.backwards_to(tensor).within(self._step_before(tensor, reached), reached.run.start)
        runs = (run for run in earlier if run.index < reached.run.index and run.index in self._left)
        return next((run for run in runs if tensor in self._left[run.index].tensors), None)

    def _step_before(self, tensor: int, reached: Reached) -> int:
        steps = self.timeline.steps.before(reached.step.at)
        return next((step.at for step in steps if tensor in step.held and step is not reached.step), 0)

    def _by_one(self, step: Step, run: Backward, parameters: list[ParameterStep]) -> Reached:
        carried = self.exchanges.carried(run.start, step.updates_from) if self.exchanges.calls else {}
        left = self._left.get(run.index)
        alone = frozenset(left.tensors) if left is not None else frozenset()
        reduced, local, dropped, partly = list[int](), list[int](), list[int](), list[int]()
        by_hand = False
        own = left_own(self._capture, self.exchanges, run, step) if carried else frozenset[int]()
        for parameter in parameters:
            tensor = parameter.tensor
            early = self.stepped_within(step, run) and tensor in self.hooked_behind
            # A wrapper that is gone reduces nothing; unless there is another one later, nothing is to be reduced any more.
            done = left is not None and self._gone(left, tensor, run)
            if tensor in self.wrapper_of and (tensor not in alone or done) and not early:
                reduced.append(tensor)
            elif carried and self._went(parameter, carried):
                unused = self._stayed(parameter, run, step)
                unmet = not unused and tensor in own
                (local if unused or unmet else reduced).append(tensor)
                dropped += [tensor] if unused else []
                partly += [tensor] if unmet else []
                by_hand = by_hand or not unused
            else:
                local.append(tensor)
        return Reached(step, run, tuple(reduced), tuple(local), by_hand, tuple(dropped), tuple(partly))

    def _gone(self, left: GradientsLeftLocal, tensor: int, run: Backward) -> bool:
        """Whether what had wrapped a parameter was gone when a backward ran, and nothing wraps it later."""
        return left.gone and self.wrapper_of[tensor].at <= run.start if tensor in self.wrapper_of else False

    @staticmethod
    def stepped_within(step: Step, run: Backward) -> bool:
        """Whether a step was made while a backward ran, by a hook."""
        return run.start < step.updates_from < run.end and not step.computed

    @cached_property
    def hooked_behind(self) -> frozenset[int]:
        """What has a hook that runs as soon as a gradient is accumulated: a reducer has not come for it by then."""
        return frozenset(hook.tensor for hook in self._capture.tensor_hooks if hook.post)

    def _stayed(self, parameter: ParameterStep, run: Backward, step: Step) -> bool:
        """Whether a step was given a gradient as its backward left it: the same tensor, and nothing was written to it.

        To scale it by a number brings nothing from other ranks.
        """
        memory = self.exchanges.storage(parameter.gradient)
        start, end = run.end, step.updates_from
        assigned = any(
            write.tensor == parameter.tensor and start <= write.at <= end for write in self._capture.grad_writes
        )
        if memory < 0 or assigned or self.exchanges.storage(parameter.gradient) in self.exchanges.came(run.start, end):
            return False
        written = any(
            write.storage == memory and any(self.exchanges.storage(tensor) != memory for tensor in op.inputs)
            for op in self._capture.ops[start:end]
            for write in op.writes
        )
        hooked = any(hook.tensor == parameter.tensor for hook in self._capture.tensor_hooks)
        return not written and not hooked

    def _went(self, parameter: ParameterStep, carried: dict[int, int]) -> bool:
        """Whether an exchange carried as many elements of a gradient's memory as it has."""
        gradients = {parameter.gradient, *self._gradients().get(parameter.tensor, ())}
        size = self.exchanges.elements(parameter.tensor)
        return any(carried.get(self.exchanges.storage(gradient), 0) >= size for gradient in gradients)

    def gradients(self, tensor: int) -> frozenset[int]:
        """What was seen as a parameter's gradient."""
        return self._gradients().get(tensor, frozenset())

    def exchanged(self, tensor: int) -> list[Communicated]:
        """The calls that were given a gradient of a parameter's as it is, whenever that was."""
        gradients = self._gradients().get(tensor, frozenset())
        return [event for event in self.exchanges.calls if not gradients.isdisjoint(self._given[event.nth])]

    @cached_property
    def _given(self) -> dict[int, frozenset[int]]:
        """Call -> what it was given, and what that is a view or an alias of. Memory that is free is used again."""
        return {event.nth: frozenset(map(self.exchanges.origin, event.tensors)) for event in self.exchanges.calls}

    def called_alone(self, tensor: int, reached: Reached) -> Communicated | None:
        """The call that was given a gradient as it is, before a step, and that no other rank took part in."""
        gradients = self._gradients().get(tensor, frozenset())
        for event in self._alone:
            given = set(map(self.exchanges.origin, event.tensors))
            if reached.run.start <= event.at < reached.step.updates_from and not gradients.isdisjoint(given):
                return event
        return None

    @cached_property
    def _alone(self) -> tuple[Communicated, ...]:
        return tuple(event for event in self._capture.events_of(Communicated) if event.world == 1 and event.op)

    def averaged(self, tensor: int) -> bool:
        """Whether the ranks exchange the weights themselves."""
        carried = self.exchanges.weights.get(self.exchanges.storage(tensor), 0)
        return carried >= max(self.exchanges.elements(tensor), 1)

    @property
    def world(self) -> int:
        """How many ranks there are."""
        return self._capture.world_size

    @cached_property
    def given_away(self) -> frozenset[int]:
        """The parameters whose gradients the program's own calls sum over the ranks, whoever steps with them."""
        summing = [event for event in self.exchanges.calls if event.op in {"sum", "avg"}]
        given = frozenset[int]().union(*(self._given[event.nth] for event in summing))
        return frozenset(t for t, gradients in self._gradients().items() if not given.isdisjoint(gradients))

    @cached_property
    def within_groups(self) -> bool:
        """Whether the program reduces gradients among some of the ranks: others may have other weights, and the same data."""
        smaller = [
            event for event in self.exchanges.calls if event.op and event.world < self.world and not event.inside
        ]
        given = frozenset[int]().union(*(self._given[event.nth] for event in smaller))
        return any(not given.isdisjoint(gradients) for gradients in self._gradients().values()) if given else False

    @cached_property
    def brought(self) -> frozenset[int]:
        """What a step was given a gradient of that other ranks have computed: a wrapper brought it."""
        steps = self._capture.steps if self.wrappers else ()
        given = {p.tensor for step in steps for p in step.parameters if p.gradient >= 0}
        return frozenset(tensor for tensor in given if tensor in self.wrapper_of)

    def reduces_loss(self, run: Backward) -> Communicated | None:
        """The call that was given what a backward starts from: values are summed, and no gradient is."""
        events = [
            event
            for event in self.exchanges.calls
            if event.at <= run.start and event.op in {"sum", "avg"} and not event.inside
        ]
        losses = self.on_the_way_to(run) if events else set()
        return next((event for event in events if not losses.isdisjoint(event.tensors)), None)

    def averages_loss(self, run: Backward) -> Communicated | None:
        """The call that makes the loss a mean over the ranks, by a Function: each rank gets the gradient of its own."""
        if run.index not in self._means:
            self._means[run.index] = averages_loss(self._capture, self.exchanges, run)
        return self._means[run.index]

    def on_the_way_to(self, run: Backward) -> set[int]:
        """The tensors that a backward starts from, and those that they were computed from, as long as each is as small."""
        tensors, seen = self._capture.tensors, set[int]()
        todo = list(run.roots)
        while todo:
            tensor = todo.pop()
            small = self.exchanges.elements(tensor) == 1 and tensors[tensor].requires_grad and not tensors[tensor].leaf
            if tensor not in seen and small:
                seen.add(tensor)
                birth = tensors[tensor].birth
                todo += self._capture.ops[birth].inputs if birth >= 0 else ()
        return seen

    @cached_property
    def alike(self) -> ProgramEvent | None:
        """What shows that each rank is to hold a replica, although no gradient and no weight is ever reduced.

        The ranks take parts of one data set, or each steps a part of the weights and sends it out, or one of them has
        sent the weights out before the first step.
        """
        if self.meant or self.exchanges.in_functions or self.exchanges.point_to_point:
            return None
        capture = self._capture
        stepped = {p.tensor for step in capture.steps for p in step.parameters if p.gradient >= 0}
        if any(self.averaged(tensor) for tensor in stepped):
            return None
        for event in capture.events_of(SamplerIterated):
            later = self.timeline.steps.within(event.at, len(capture.ops))
            if (event.shuffle or event.epoch < 0) and event.parts == capture.world_size > 1 and later:
                return event
        spread = {row.optimizer for row in capture.placement.rows if row.stepped_by != HERE}
        for record in capture.placement.optimizers:
            if record.id in spread and not self.sharded_models:
                return OptimizerCreated(record.created_at, record.site, record.id, record.type, record.held)
        memory = {self.exchanges.storage(tensor) for tensor in stepped} - {-1}
        sent = {
            self.exchanges.storage(t): event
            for event in self.exchanges.calls
            if event.name == "broadcast"
            for t in event.tensors
        }
        return next(iter(sent.values())) if memory and memory <= sent.keys() else None

    @cached_property
    def ignored(self) -> frozenset[int]:
        """What the program has told its wrappers to leave alone."""
        return frozenset(tensor for wrapper in self.wrappers.values() for tensor in wrapper.ignored)

    def on_the_way(self, tensor: int, reached: Reached) -> list[Communicated]:
        """The calls that were given a parameter's gradient as it is, between its backward and a step."""
        return [event for event in self.exchanged(tensor) if reached.run.start <= event.at < reached.step.updates_from]

    def awaited(self, event: Communicated, end: int) -> bool:
        """Whether the program waited for a call before a moment."""
        return not event.begun or any(
            each.nth == event.nth and each.at <= end for each in self._capture.events_of(Awaited)
        )

    @cached_property
    def meant(self) -> bool:
        """Whether some gradient is reduced: then each rank is to hold a replica."""
        return any(each.reduced for each in self.reached) or self.shards_meant

    def alone_before(self, tensor: int) -> bool:
        """Whether all steps of a parameter lie before the first reduction: this rank began with a training of its own."""
        first = min((each.run.start for each in self.reached if each.reduced), default=-1)
        steps = [step.at for step in self._capture.steps if any(p.tensor == tensor for p in step.parameters)]
        return bool(steps) and max(steps) < first

    @cached_property
    def shards_meant(self) -> bool:
        """Whether some step was given gradients that ``fully_shard`` has reduced and dealt out."""
        shards = {tensor for event in self.sharded_models for tensor in event.tensors}
        return bool(shards) and any(
            p.gradient >= 0 and p.tensor in shards for step in self._capture.steps for p in step.parameters
        )

    def reached_between(self, tensor: int, start: int, run: Backward) -> bool:
        """Whether another backward reached a parameter since a moment and before a run."""
        return any(other.index < run.index for other in self.timeline.backwards_to(tensor).within(start, run.start))

    def no_backward_between(self, start: int, end: int) -> bool:
        """Whether no backward began between two moments."""
        return not self.timeline.backwards.within(start, end)
