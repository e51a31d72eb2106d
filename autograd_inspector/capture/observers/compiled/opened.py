"""Calls of compiled graphs, each opened into the ops that it was made from."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from types import FrameType
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from autograd_inspector.capture.compiled.listener import Graph, is_compilers
from autograd_inspector.capture.compiled.module_sources import Scope, value_of
from autograd_inspector.capture.compiled.plan import Plan
from autograd_inspector.capture.compiled.refused import Refused
from autograd_inspector.capture.lines.frames import outwards
from autograd_inspector.capture.lines.sources import RESUMED
from autograd_inspector.capture.observers.calls.arguments import gather
from autograd_inspector.capture.observers.calls.bracket import Before, record
from autograd_inspector.capture.observers.calls.hooks import registers
from autograd_inspector.capture.observers.calls.installed import Observers
from autograd_inspector.capture.observers.calls.opaque import Opaque
from autograd_inspector.capture.observers.calls.ops import Recorder
from autograd_inspector.capture.observers.compiled.apart import apart
from autograd_inspector.capture.observers.compiled.bridges import BETWEEN, Bridges
from autograd_inspector.capture.observers.compiled.described import described
from autograd_inspector.capture.observers.compiled.interpreter import Calls, Interpreter
from autograd_inspector.capture.observers.compiled.refusals import Refusals
from autograd_inspector.capture.observers.compiled.shadow import Shadow, can_stand_in
from autograd_inspector.capture.observers.compiled.stepping import Stepping, step_frame, stepped_by
from autograd_inspector.capture.observers.compiled.tally import Tally
from autograd_inspector.capture.observers.optimizers.steps import Steps
from autograd_inspector.capture.recording.raw_records import OP_WRITES
from autograd_inspector.capture.tensors.attributes import is_leaf, needs_grad, version_of
from autograd_inspector.capture.torch_private.compiled import COMPILED_CALL, is_compiling, is_dynamos
from autograd_inspector.capture.torch_private.graph import sequence_number
from autograd_inspector.capture.torch_private.modes import DisableTorchFunction
from autograd_inspector.capture.undisturbed.mode_stack import put_on, take_off
from autograd_inspector.interrupts import is_interrupt
from autograd_inspector.messages import text_of
from autograd_inspector.model.op import Trait
from autograd_inspector.model.torch_names import EARLY_STOP

_BACKWARD = int(Trait.BACKWARD)
_COMPILED = "compiled "
OPAQUE = (
    "Some code that uses torch.compile ran without a visible graph: Dynamo did not compile it, or it was compiled "
    "before autograd_inspector was imported. Each of its calls appears as one op. inspect(compiled='eager') or --eager "
    "runs it uncompiled, so that all ops are seen."
)
UNREAD = "The graph of a compiled call could not be read, so the call appears as one op:"


class CompiledCall(Opaque):
    """A call of a compiled function or module: the calls of its graphs, and the Python that runs between them."""

    def __init__(self, opener: Opener, name: str, what: Any, arguments: Any, observers: Observers) -> None:
        super().__init__(opener.recorder, name, what, arguments, observers)
        self._opener = opener
        self.opened = False
        """Some graph of it was."""
        self._began: tuple[int, int, int] | None = None
        self._read = len(opener.recorder.recording.ops)
        """So many ops were looked at for what they wrote."""
        self._seen: dict[int, int] = {}
        """Memory that these wrote -> its version after that."""

    def begin(self) -> None:
        """It begins, and with it the calls of its graphs."""
        self._opener.calls.append(self)
        recording = self.recorder.recording
        if not recording.inside_opaque and recording.here() and recording.active():
            self._began = self.recorder.guard.run(self._beginning)
        super().begin()

    def end(self, error: BaseException | None = None) -> None:
        """It is over, and those inside it."""
        calls = self._opener.calls
        self._opener.stepping.ends()
        if self in calls:
            del calls[calls.index(self) :]
        super().end(error)
        if not calls:
            self._opener.over()
        began, self._began = self._began, None
        if began is not None and self.opened:
            self.recorder.guard.run(self._opener.tally.called, self.function, began)

    def _beginning(self) -> tuple[int, int, int]:
        recording = self.recorder.recording
        self._opener.bridges.given(self._arguments)
        return len(recording.ops), recording.call, recording.stacks.here()

    @property
    def function(self) -> str:
        """The name of what is called."""
        return self.name.removeprefix(_COMPILED)

    def note(self, before: Before, raised: BaseException | None) -> None:
        """What the graphs did is recorded. What else was returned comes from the Python between them."""
        recording = self.recorder.recording
        if raised is not None and self._told(raised):
            return
        if self.opened and _has_run(raised):
            return
        if not self.opened or raised is not None:
            nothing_ran = is_dynamos(raised)
            if not self.opened and not nothing_ran and not recording.traits & _BACKWARD:  # A checkpoint runs it again.
                recording.note(OPAQUE)
            super().note(before, raised)
            return
        results: list[Tensor] = []
        gather((self.result,), results)
        site = recording.stacks.here()
        unknown = [each for each in results if recording.registry.entry_of(each) is None]
        for each in unknown:
            if needs_grad(each) and not is_leaf(each):
                self._opener.bridges.between(each, tuple([entry.tensor for entry in before.entries]), site)
            elif needs_grad(each):
                self._opener.bridges.created(each, site)
        unknown = [each for each in unknown if recording.registry.entry_of(each) is None]
        self.written_between(before, site)
        if unknown:
            record(recording, before, self.name, unknown, site=site)

    def _told(self, raised: BaseException) -> bool:
        """Whether what it raised is told with the op inside that raised it."""
        start = self._began[0] if self._began is not None else len(self.recorder.recording.ops)
        return self._opener.refusals.tell(raised, start, self.recorder.recording.stacks.here())

    def goes_on(self, site: int) -> None:
        """Another graph is about to run."""
        if self._before is not None:
            self.written_between(self._before, site)

    def written_between(self, before: Before, site: int) -> None:
        """What Python has written since the last graph of what the call was given."""
        recording, bridges = self.recorder.recording, self._opener.bridges
        for index, op in recording.ops.items(self._read):
            self._seen.update({write.storage: write.after for write in op[OP_WRITES]})
            self._read = index + 1
        triples = list(zip(before.tensors, before.entries, before.versions, strict=True))
        mine = [each for each in triples if version_of(each[0]) > max(each[2], self._seen.get(each[1].storage, -1))]
        if mine:
            tensors, entries, versions = map(list, zip(*mine, strict=True))
            now = Before(tensors, entries, versions, recorded=False, sequence=bridges.since)
            record(recording, now, BETWEEN, (), site=bridges.place if bridges.place >= 0 else site)
            bridges.since = sequence_number()


class KeptOut:
    """A function that compiled code calls and that Dynamo is kept out of. It runs as it would without any compiling."""

    def __init__(self, call: CompiledCall, observers: Observers, frame: FrameType) -> None:
        self.frame = frame
        self._call = call
        self._observers = observers
        self._recorder = observers.recorder
        self._was_inside = self._recorder.recording.inside_opaque

    def begin(self) -> None:
        """All is observed again."""
        self._recorder.recording.inside_opaque = False
        self._recorder.guard.run(self._observers.come_back, self._call)
        put_on(self._recorder)

    def end(self) -> None:
        """Compiled code goes on."""
        take_off(self._recorder)
        self._recorder.guard.run(self._observers.leave, self._call)
        self._recorder.recording.inside_opaque = self._was_inside


class Opener:
    """Makes the calls of graphs for a capture."""

    def __init__(self, recorder: Recorder, modules: Calls, steps: Steps) -> None:
        self.recorder = recorder
        self._modules = modules
        self.stepping = Stepping(steps)
        self.bridges = Bridges(recorder.recording)
        self.tally = Tally(recorder.recording)
        self.refusals = Refusals(recorder, modules, self.opens)
        self._inside = 0
        """How many graphs run now."""
        self.calls: list[CompiledCall] = []
        """The calls of compiled functions that run, the innermost last."""

    def __call__(self, graph: Graph, args: tuple[Any, ...]) -> Any:
        """What the graph returns."""
        self._inside += 1
        try:
            return self._call(graph, args)
        finally:
            self._inside -= 1

    def refuse(self, graph: Refused) -> None:
        """A graph of the calls that run is not compiled."""
        recording = self.recorder.recording
        if self.calls and recording.here() and recording.active():
            self.refusals.meet(graph)

    def _call(self, graph: Graph, args: tuple[Any, ...]) -> Any:
        recording = self.recorder.recording
        if not graph.plan.steps or not self.calls or not recording.here() or self._in_backward():
            return graph.run(*args)
        frame = _captured(graph, sys._getframe(1))
        optimizer = self.recorder.guard.run(stepped_by, graph.plan, frame)
        self.stepping.ends(unless=optimizer)
        if not recording.active() and optimizer is None:
            return graph.run(*args)
        if optimizer is not None:
            self.opens()
            self.recorder.guard.run(self.tally.runs, self.calls[0].function, graph.plan, frame)
            return self._step(graph, args, optimizer, frame)
        if graph.plain:
            return self._observed(graph, args, frame)
        return self._expanded(graph, args, frame)

    def _in_backward(self) -> bool:
        """Whether it computes gradients. What checkpointing recomputes there is a forward, and records a graph."""
        return bool(self.recorder.recording.traits & _BACKWARD) and not torch.is_grad_enabled()

    def _step(self, graph: Graph, args: tuple[Any, ...], optimizer: Optimizer, frame: FrameType) -> Any:
        """A graph of a step is run. Code that has the step within it goes on when the step is over."""
        running = self.recorder.guard.run(step_frame, frame)
        if running is not None:
            self.stepping.begins(optimizer, running[1])
            return graph.run(*args)
        self.stepping.begins(optimizer, _around(frame))
        try:
            return graph.run(*args)
        finally:
            self.stepping.ends()

    def _begins(self, graph: Graph, args: Sequence[Any], frame: FrameType, outer: int) -> None:
        self.recorder.guard.run(self.bridges.arrive, graph.plan, args, frame, outer)
        if graph.plan.code.co_name.startswith(RESUMED):
            self.recorder.guard.run(self.calls[0].goes_on, outer)
        self.recorder.guard.run(self.tally.runs, self.calls[0].function, graph.plan, frame)

    def over(self) -> None:
        """No compiled call runs any more."""
        self.bridges.over()
        self.refusals.over()

    def may_look_on(self, function: Any, frame: FrameType) -> bool:
        """Whether a function that compiled code calls may be observed: not a graph, nor what runs to compile one."""
        recording = self.recorder.recording
        if self._inside or not self.calls or is_compilers(function) or is_compiling() or not recording.here():
            return False
        if self.recorder.guard.run(self.stepping.meets, frame):
            self.opens()
        return recording.active() and not recording.traits & _BACKWARD

    def _observed(self, graph: Graph, args: tuple[Any, ...], frame: FrameType) -> Any:
        """The graph is run by Python: so it is, with the recorder looking on."""
        self.opens()
        outer = self._outer(frame)
        interpreter = self._interpreter(graph, frame)
        self._begins(graph, args, frame, outer)
        put_on(self.recorder)
        try:
            results = interpreter.run(args, outer)
        finally:
            take_off(self.recorder)
        self.recorder.guard.run(self._left, graph.plan, results, frame, outer)
        return results

    def _expanded(self, graph: Graph, args: tuple[Any, ...], frame: FrameType) -> Any:
        """The backend's code is run, and then the graph that it was made from, without data."""
        recording = self.recorder.recording
        shadow = self.recorder.guard.run(Shadow, recording, args) if can_stand_in(args) else None
        if shadow is not None:
            self._begins(graph, args, frame, self._outer(frame))
        first = sequence_number()
        try:
            result = graph.run(*args)
        except Exception as error:
            if shadow is not None and not is_interrupt(error):
                if _has_run(error):
                    self._describe(graph, frame, shadow, (), first)
                else:
                    self.refusals.meet(Refused(error, graph.plan, args, Scope.of(frame)))
            raise
        if shadow is not None:
            self._describe(graph, frame, shadow, (result,), first)
        return result

    def _describe(self, graph: Graph, frame: FrameType, shadow: Shadow, result: tuple[Any, ...], first: int) -> None:
        """Open a graph that has run; ``result`` is what it returned, or nothing."""
        recording = self.recorder.recording
        if recording.closed:
            return
        try:
            with apart(self.recorder):
                self._expand(graph, frame, shadow, result, first)
        except RecursionError:
            recording.out_of_stack = True
        except Exception as failure:
            if is_interrupt(failure):
                raise
            recording.note(f"{UNREAD} {text_of(failure)}")

    def _expand(self, graph: Graph, frame: FrameType, shadow: Shadow, result: tuple[Any, ...], first: int) -> None:
        recording = self.recorder.recording
        outer = self._outer(frame)
        with DisableTorchFunction():
            last = sequence_number()
            if last > first:
                recording.append(self.calls[0].name, site=outer, sequence=(first, last))
        results = described(self.recorder, self._interpreter(graph, frame), graph.plan, shadow, outer)
        self.opens()
        with DisableTorchFunction():
            for returned in result:
                shadow.joined(results, returned)
                self._left(graph.plan, returned, frame, outer)

    def _left(self, plan: Plan, results: Any, frame: FrameType, outer: int) -> None:
        """A graph has run. What the code does next is known from it."""
        self.bridges.left(plan, results, frame, outer)
        scope = Scope.of(frame) if plan.hooks else None
        for hook in plan.hooks:
            tensor = value_of(hook.source, scope) if scope is not None else None
            if isinstance(tensor, Tensor):
                post = hook.method == Tensor.register_post_accumulate_grad_hook.__name__
                registers(self.recorder.recording, tensor, hook.code, post=post)

    def opens(self) -> None:
        """Something of the calls that run is recorded."""
        for call in self.calls:
            call.opened = True

    def _outer(self, frame: FrameType) -> int:
        """The stack that called the captured code, which the compiled one runs in the place of."""
        caller: FrameType | None = frame
        while caller is not None and caller.f_code.co_name.startswith(RESUMED):
            caller = caller.f_back
        return self.recorder.recording.stacks.at(None if caller is None else caller.f_back)

    def _interpreter(self, graph: Graph, frame: FrameType) -> Interpreter:
        recorder = self.recorder
        interpreter = Interpreter(recorder, self._modules, graph.plan, Scope.of(frame))
        interpreter.reentered = recorder.guard.run(self.bridges.numbers, frame) or {}
        return interpreter


def _has_run(raised: BaseException | None) -> bool:
    """Whether checkpointing ends a recomputation: the graph has run, and has saved all that backward needs."""
    return type(raised).__name__ == EARLY_STOP


def _around(frame: FrameType) -> FrameType:
    """Torch's frame around the whole compiled call, which stands for as long as that runs."""
    return next((each for each in outwards(frame) if each.f_code.co_name == COMPILED_CALL), frame)


def _captured(graph: Graph, start: FrameType | None) -> FrameType:
    """The frame of the captured code, or of what goes on with it after a break."""
    code = graph.plan.code
    frames = list(_few(outwards(start)))
    same = (frame for frame in frames if frame.f_code.co_filename == code.co_filename)
    return next(same, frames[-1])


def _few(frames: Iterable[FrameType]) -> Iterable[FrameType]:
    for place, frame in enumerate(frames):
        if place == 12:  # noqa: PLR2004 - torch has two or three of its own between the graph and the captured code
            return
        yield frame
