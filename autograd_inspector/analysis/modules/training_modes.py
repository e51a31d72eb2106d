"""In which mode a model is trained: who put it into eval mode, to look at what, and which step trains it like that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import takewhile

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.draws import draws
from autograd_inspector.analysis.ops_of import having
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import ModuleCall, Op, Trait
from autograd_inspector.model.program_events import ModeSwitched


class TrainedInEval(Struct, frozen=True):
    """A model that was in train mode was put into eval mode, was looked at, and a step trains it in eval mode.

    ``call`` is the first of its calls that is trained like that, ``looked`` the one before that is not (None: it is
    folded away), ``otherwise`` the calls of modules that compute otherwise than in train mode, ``last`` what left it in
    eval mode last, where that is another line: it was to restore a mode, and had kept the wrong one.
    """

    switch: ModeSwitched
    call: ModuleCall
    step: Step
    otherwise: tuple[ModuleCall, ...]
    looked: ModuleCall | None = None
    last: ModeSwitched | None = None


def trained_in_eval(analysis: Analysis) -> Iterator[TrainedInEval]:
    """The first time for each line that puts a model into eval mode."""
    switches = analysis.capture.events_of(ModeSwitched)
    if any(not switch.training for switch in switches):
        told: set[tuple[int, int, str]] = set()
        for found in Modes(analysis, switches).found():
            key = (found.switch.site, found.switch.model, found.switch.path)
            if key not in told:
                told.add(key)
                yield found


def within(path: str, outer: str) -> bool:
    """Whether a module is another one of the same model, or inside of it, by their paths."""
    return not outer or path == outer or path.startswith(f"{outer}.")


class Modes:
    """The calls that steps learn from, and the modes that their modules were put into."""

    def __init__(self, analysis: Analysis, switches: Iterable[ModeSwitched]) -> None:
        self._analysis = analysis
        self._capture = analysis.capture
        self._switches = tuple(switches)

    def found(self) -> Iterator[TrainedInEval]:
        """Every switch, with the first step that shows it to be one too many."""
        for step, made in self.learning:
            parts: dict[int, tuple[ModeSwitched, list[ModuleCall]]] = {}
            for call in self.otherwise(made):
                switch = self._switch(call)
                if switch is not None:
                    parts.setdefault(id(switch), (switch, []))[1].append(call)
            for switch, calls in parts.values():
                call = self._capture.outermost_call(calls[0].id)
                yield TrainedInEval(
                    switch, call, step, tuple(calls), self._looked(switch, call), self._left_so(switch, call)
                )

    @cached_property
    def learning(self) -> list[tuple[Step, frozenset[int]]]:
        """Each step, and the ops in the graph of the backward that it learns from: the last one before it."""
        learning = []
        timeline = self._analysis.timeline
        since: dict[int, int] = {}
        for step in self._capture.steps:
            given = {p.tensor for p in step.parameters if p.gradient >= 0}
            first = since.get(step.optimizer, 0)
            runs = takewhile(lambda run, first=first: run.start >= first, timeline.backwards.before(step.at + 1))  # type: ignore[misc]
            last = next((run for run in runs if not given.isdisjoint(run.reached)), None)
            since[step.optimizer] = step.at + 1
            if last is not None and not step.error:
                learning.append((step, self._made(last)))
        return learning

    def _made(self, run: Backward) -> frozenset[int]:
        return frozenset(node.op for node in self._analysis.nodes_of(run) if node.op >= 0)

    @cached_property
    def _learned(self) -> list[ModuleCall]:
        """The calls in which something ran that some step learns from."""
        numbers = {self._capture.ops[op].call for _, made in self.learning for op in made}
        return [self._capture.calls[number] for number in sorted(numbers) if number >= 0]

    @cached_property
    def _around_learned(self) -> frozenset[int]:
        """The calls around those, which are inside of no other."""
        return frozenset(self._capture.outermost_call(call.id).id for call in self._learned)

    def otherwise(self, made: frozenset[int]) -> list[ModuleCall]:
        """The calls that compute otherwise than in train mode, on the way of these gradients."""
        readers, calls = self._capture.readers, self._capture.calls
        # What drops nothing leaves no node, and returns what it was given.
        told = {
            op.call
            for op in self._evaluating
            if op.index in made or any(not made.isdisjoint(readers.get(output, ())) for output in op.outputs)
        }
        around = {self._capture.outermost_call(call).id for op in made if (call := self._capture.ops[op].call) >= 0}
        silent = (call for call in self._not_drawing if self._capture.outermost_call(call.id).id in around)
        return [calls[number] for number in sorted({*told, *(call.id for call in silent)})]

    @cached_property
    def _evaluating(self) -> list[Op]:
        return [op for op in having(self._capture, Trait.EVALUATES) if op.call >= 0]

    @cached_property
    def _not_drawing(self) -> list[ModuleCall]:
        """Calls in eval mode that draw no random numbers, of modules that drew some in train mode."""
        ops = self._capture.ops
        drawing = {op.call for op in ops if op.call >= 0 and draws(op)}
        calls = self._capture.calls
        noisy = {(calls[number].root, calls[number].path) for number in drawing if calls[number].training}
        return (
            [c for c in calls if not c.training and c.id not in drawing and (c.root, c.path) in noisy] if noisy else []
        )

    def _switch(self, call: ModuleCall) -> ModeSwitched | None:
        """The switch that is to be taken back before that call: made to look at the model, which was in train mode."""
        on_the_way = [
            s for s in self._switches if s.model == call.root and s.at <= call.at and within(call.path, s.path)
        ]
        trained = max((i for i, s in enumerate(on_the_way) if s.training), default=-1)
        since = on_the_way[trained].at if trained >= 0 else 0
        for switch in on_the_way[trained + 1 :]:
            was_trained = trained >= 0 or self._trained(switch, since)
            if was_trained and self._to_look(switch, call) and not self._set_aside(switch):
                return switch
        return None

    def _left_so(self, switch: ModeSwitched, call: ModuleCall) -> ModeSwitched | None:
        """The last switch of the same module before that call, where it is another one."""
        same = (s for s in self._switches if (s.model, s.path) == (switch.model, switch.path) and s.at <= call.at)
        last = list(same)[-1]
        return last if last.site != switch.site and not last.training else None

    def _trained(self, switch: ModeSwitched, since: int) -> bool:
        """Whether a step had learned from it in train mode."""
        return any(
            call.training and self._is_of(call, switch) and since <= call.at < switch.at for call in self._learned
        )

    def _to_look(self, switch: ModeSwitched, call: ModuleCall) -> bool:
        """Whether nothing learns from the first call in eval mode: then the mode was meant for that."""
        if switch.looks:
            return True
        looked = self._looked(switch, self._capture.outermost_call(call.id))
        return looked is not None and not self._capture.history.folded

    def _looked(self, switch: ModeSwitched, before: ModuleCall) -> ModuleCall | None:
        """The first call of the module, by the program itself, after the switch; None where a step learns from it."""
        calls = (c for c in self._capture.calls if c.at >= switch.at and c.parent < 0 and self._is_of(c, switch))
        first = next(calls, None)
        return None if first is None or first.id in self._around_learned or first.id >= before.id else first

    @staticmethod
    def _is_of(call: ModuleCall, switch: ModeSwitched) -> bool:
        return call.root == switch.model and within(call.path, switch.path)

    def _set_aside(self, switch: ModeSwitched) -> bool:
        """Whether other parameters of the model learn now than before: another stage, which may be meant so."""
        owners = self._capture.owners
        before, now = (
            {
                p.tensor
                for step in self._capture.steps
                for p in step.parameters
                if (step.at >= switch.at) == later and p.gradient >= 0 and owners.get(p.tensor) == switch.model
            }
            for later in (False, True)
        )
        return not before <= now


def into_train_mode(analysis: Analysis, call: ModuleCall) -> tuple[ModeSwitched, ...]:
    """What put a module, or one around it, into the train mode that it was called in: the first switch, and the last."""
    switches = [s for s in analysis.capture.events_of(ModeSwitched) if s.model == call.root and s.at <= call.at]
    own = [s for s in switches if within(call.path, s.path)]
    if not own or not own[-1].training:
        return ()
    first = next(s for s in own if s.training)
    return (first,) if first.site == own[-1].site else (first, own[-1])
