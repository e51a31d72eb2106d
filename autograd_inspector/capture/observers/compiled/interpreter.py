"""Runs the steps of a compiled graph one by one, each from the line and in the modules that it was captured from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import CodeType
from typing import Any, Protocol

from torch import Tensor, nn

from autograd_inspector.capture.compiled.code_places import Frame
from autograd_inspector.capture.compiled.leaving import NUMBER
from autograd_inspector.capture.compiled.module_sources import Scope, value_of, written
from autograd_inspector.capture.compiled.plan import (
    ATTRIBUTE,
    CALL,
    METHOD,
    MODULE,
    OUTPUT,
    PLACEHOLDER,
    Plan,
    Step,
    holds,
    resolved,
)
from autograd_inspector.capture.compiled.written_code import call
from autograd_inspector.capture.lines.callables import code_of
from autograd_inspector.capture.lines.stacks import SKIP, classify
from autograd_inspector.capture.observers.calls.function_gradients import FunctionGradients
from autograd_inspector.capture.observers.calls.ops import Recorder
from autograd_inspector.capture.observers.calls.special import FROM_PYTHON
from autograd_inspector.capture.observers.calls.transforms import crossed
from autograd_inspector.capture.observers.compiled.bodies import Run, apply, chooses, inside_all, is_function
from autograd_inspector.capture.observers.compiled.chosen import run_apart
from autograd_inspector.capture.observers.compiled.gradients import grad_read
from autograd_inspector.capture.observers.compiled.outside import Outside, number_behind
from autograd_inspector.capture.observers.compiled.shadow import Shadow
from autograd_inspector.capture.observers.compiled.switches import Switching
from autograd_inspector.capture.recording.exports import rejoin
from autograd_inspector.capture.recording.raw_records import OP_INPUTS
from autograd_inspector.capture.tensors.attributes import is_leaf, needs_grad
from autograd_inspector.capture.torch_private.calls import data_of, differentiate, transform_borders
from autograd_inspector.capture.torch_private.compiled import tensor_of_tensors
from autograd_inspector.capture.torch_private.modes import DisableTorchFunction, set_grad_enabled
from autograd_inspector.interrupts import is_interrupt


class Calls(Protocol):
    """Follows the calls of modules."""

    @property
    def depth(self) -> int:
        """How many are open."""

    @property
    def innermost(self) -> nn.Module | None:
        """The module whose call began last of those that are open."""

    def enter(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """One begins."""

    def called_as(self, module: nn.Module, name: str) -> None:
        """What the code has for one that is about to be called."""

    def leave(self, depth: int) -> None:
        """All but so many have ended."""


Calling = Callable[[Callable[..., Any], Any, Any], Any]
Opened = tuple[nn.Module, str, int]
"""A module, by which expression it was called, and the how manieth time by that."""


class Interpreter:
    """One run of a plan. ``scope``: what the captured code sees; ``outer``: the stack that it was called from.

    ``shadow``: what it is run with has no data, and makes the result of a step that raised. Without one it raises into
    the program, whose step it is.
    """

    def __init__(self, recorder: Recorder, modules: Calls, plan: Plan, scope: Scope) -> None:
        self._recorder = recorder
        self._recording = recorder.recording
        self._modules = modules
        self._plan = plan
        self._scope = scope
        self._switching = Switching(recorder.regions)
        self._known: dict[str, nn.Module | None] = {}
        self._names: dict[int, str] = {}
        self._callers: dict[tuple[int, int], Calling] = {}
        self._open: list[Opened] = []
        self._around: nn.Module | None = None
        self._entered: nn.Module | None = None
        """The module whose forward alone is compiled: its call is open already."""
        self._outer, self._depth = -1, 0
        self._borders = transform_borders()
        self.shadow: Shadow | None = None
        self.reentered: dict[float, int] = {}
        """Numbers that had left torch before the graph, and that are written into it -> the op by which they left."""
        self.refuses: Callable[[Step, Exception], bool] = lambda *_: False
        """Whether a step that raised ends the run also where there are no data."""

    def run(self, args: tuple[Any, ...], outer: int) -> Any:
        """The graph's results, as one tuple or list."""
        guard = self._recorder.guard
        self._outer, self._depth = outer, self._modules.depth
        whole = guard.run(self._whole)
        if whole is self._modules.innermost:
            self._entered = whole
        else:
            self._around = whole
        try:
            return self._run(self._plan, args)
        finally:
            guard.run(self._modules.leave, self._depth)

    def _run(self, plan: Plan, args: Sequence[Any]) -> Any:
        """The results of a graph, or of one that it gives to an op."""
        results: dict[int, Any] = {}
        inputs = iter(args)
        stacks, outer, steps, guard = self._recording.stacks, self._outer, plan.steps, self._recorder.guard
        outside = Outside(self._recording)
        sites = guard.run(self._sites, steps) or [outer] * len(steps)
        for number, step in enumerate(steps):
            if step.kind == PLACEHOLDER:
                results[number] = next(inputs)
                guard.run(self._arrived, plan, outside, number, results[number])
            elif step.kind == OUTPUT:
                return resolved(step.args, results)[0]
            elif step.kind == CALL and step.target is set_grad_enabled:
                self._switching.switch(step.args[0], steps[number:], outer)
            else:
                guard.run(self._enter, step)
                guard.run(self._switching.follow, step, outer)
                with stacks.standing_in(sites[number], outer if step.bodies else None, _programs(step)):
                    before = len(self._recording.ops)
                    known = self.shadow is not None or not step.role.endswith(NUMBER)
                    followed = known or guard.run(outside.unwraps, step)
                    if step.role and followed:
                        make = partial(self._made, plan, step, results)
                        results[number] = outside.make(number, step, resolved(step.args, results), make)
                    else:
                        results[number] = self._made(plan, step, results)
                        guard.run(self._follow, outside, number, step, before)
            for gone in step.dropped:
                results.pop(gone, None)
        return ()

    def _sites(self, steps: Sequence[Step]) -> list[int]:
        """From where each of the steps is called."""
        of_frames, outer = self._recording.stacks.of_frames, self._outer
        return [of_frames(step.frames, outer) if step.frames else outer for step in steps]

    def _arrived(self, plan: Plan, outside: Outside, number: int, value: Any) -> None:
        """The graph was given a value, which may be a gradient, or a number that left torch before it."""
        step = plan.steps[number]
        self._name(step.source, value)
        if isinstance(value, Tensor) and _is_argument(step.source):
            self._recording.registry.given_to_model((value,))
        grad_read(self._recording, plan, number, value, self._scope, self._outer)
        behind = number_behind(step, self._scope)
        if behind is not None:
            outside.wrap(number, self.reentered.get(behind))

    def _follow(self, outside: Outside, number: int, step: Step, before: int) -> None:
        """A step has run as the program's own. ``before``: so many ops there had been."""
        recorded = len(self._recording.ops) > before
        if recorded and self.reentered:
            self._link(step)
        outside.follow(number, step, recorded=recorded)

    def _link(self, step: Step) -> None:
        """Numbers among a step's arguments that had left torch come back by it."""
        recording = self._recording
        index = len(recording.ops) - 1
        held = [export for number, export in self.reentered.items() if holds(step, number)]
        if held and (step.target in FROM_PYTHON or step.target is tensor_of_tensors()):
            left = [tensor for export in held for tensor in recording.ops[export][OP_INPUTS]]
            rejoin(recording, index, tuple(dict.fromkeys(left)))
        else:
            recording.scalar_reentries += [(index, export) for export in held]

    def _name(self, source: str, value: Any) -> None:
        """A leaf of no module has the name that the captured code has for it."""
        if not isinstance(value, Tensor) or not needs_grad(value) or not is_leaf(value):
            return
        number = self._recording.id_of(value)
        if number not in self._recording.named and not self._recording.variables.get(number):
            name = written(source)
            if name:
                self._recording.variables[number] = name

    def _made(self, plan: Plan, step: Step, results: dict[int, Any]) -> Any:
        """The result of a step; where that needs data which there are none of, one that is like it."""
        args, kwargs = resolved(step.args, results), resolved(step.kwargs, results)
        try:
            return self._call(plan, step, args, kwargs)
        except Exception as failure:
            if self.shadow is None or is_interrupt(failure) or self.refuses(step, failure):
                raise
            return 1.0 if step.role else self.shadow.stand_in_for(step, (args, kwargs))

    def _call(self, plan: Plan, step: Step, args: Any, kwargs: Any) -> Any:
        if step.kind == ATTRIBUTE:
            return plan.attributes[step.target]()
        if step.kind == METHOD:
            return getattr(args[0], step.target)(*args[1:], **kwargs)
        if step.target is data_of:
            return args[0].data  # Which a mode sees.
        target = plan.attributes[step.target]() if step.kind == MODULE else step.target
        if target is differentiate():
            FunctionGradients(self._recording, self._recorder.guard).before([], *args, **kwargs)
        if is_function(step):
            call = partial(self._calling(plan, step.line), target, args, kwargs)
            return apply(self._recorder, plan, step, call, args, backward_runs=self.shadow is None)
        if chooses(step):
            return self._chosen(plan, step, target, args, kwargs)
        return self._plainly(plan, step, target, args, kwargs)

    def _chosen(self, plan: Plan, step: Step, target: Any, args: Any, kwargs: Any) -> Any:
        """The result of an op that runs the graphs it is given as the data have it."""
        if self._recording.values is not None:
            return self._plainly(plan, step, target, args, kwargs)
        if self.shadow is None:
            return run_apart(self._recorder, plan, step, partial(target, *args, **kwargs), args, self._with_shadow)
        inside = inside_all(plan, step, args, self._run, self.shadow.like)
        return self.shadow.stand_in_for(step, inside or args)

    def _with_shadow(self, shadow: Shadow) -> Run:
        """Runs a graph that the op which runs now was given, without data."""

        def run(plan: Plan, args: Sequence[Any]) -> Any:
            self.shadow = shadow
            try:
                return self._run(plan, args)
            finally:
                self.shadow = None

        return run

    def _plainly(self, plan: Plan, step: Step, target: Any, args: Any, kwargs: Any) -> Any:
        """A function's result, also of one by which a tensor goes into a transform or out of it."""
        if target is tensor_of_tensors():
            with DisableTorchFunction():
                return self._recorder.record(partial(_unseen, target), args, kwargs, "tensor")
        made = partial(self._calling(plan, step.line), target, args, kwargs)
        transform = self._borders.get(target, "") if step.kind == CALL else ""
        if not transform:
            return made()
        return crossed(self._recording, self._recorder.guard, transform, made, args[0])

    def _calling(self, plan: Plan, line: int) -> Calling:
        """Calls a function from where torch's own code of the graph does."""
        calling = self._callers.get((id(plan), line))
        if calling is None:
            standing = plan.standing
            calling = call if standing is None or not line else standing.calling(line)
            self._callers[id(plan), line] = calling
        return calling

    def _whole(self) -> nn.Module | None:
        """The module whose forward was captured: Dynamo names only those that are called in it."""
        code = self._plan.code
        for name in code.co_varnames[: code.co_argcount]:
            value = value_of(f"L[{name!r}]", self._scope)
            if isinstance(value, nn.Module) and _same_place(code_of(type(value).forward), code):
                return value
        # A forward of torch's own is captured within a function that only passes its arguments on.
        own = value_of("L['args'][0]", self._scope) if classify(code.co_filename) == SKIP else None
        return own if isinstance(own, nn.Module) else None

    def _enter(self, step: Step) -> None:
        """Leave the modules that the step is not in, and enter those that it is in."""
        wanted: list[Opened] = [] if self._around is None else [(self._around, "", 0)]
        for path, nth in step.modules:
            if path not in self._known:
                value = value_of(path, self._scope)
                self._known[path] = value if isinstance(value, nn.Module) else None
                self._names[id(value)] = written(path)
            module = self._known[path]
            if module is None or module is self._entered:
                continue
            if all(each[0] is not module for each in wanted):
                wanted.append((module, path, nth))
        same = 0
        while same < min(len(wanted), len(self._open)) and _is_same(wanted[same], self._open[same]):
            same += 1
        self._modules.leave(self._depth + same)
        del self._open[same:]
        stacks = self._recording.stacks
        callers = callers_of([each[0] for each in wanted], step.frames)
        for (module, path, nth), frames in zip(wanted[same:], callers[same:], strict=True):
            self._modules.called_as(module, self._names.get(id(module), ""))
            with stacks.standing_in(stacks.of_frames(frames, self._outer) if frames else self._outer):
                self._modules.enter(module, (), {})
            self._open.append((module, path, nth))


def _programs(step: Step) -> CodeType | None:
    """The code of a function of the program's that a graph calls as one op: ``torch.compiler.allow_in_graph``."""
    code = code_of(step.target) if step.kind == CALL else None
    return code if code is not None and classify(code.co_filename) != SKIP else None


def _unseen(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Torch computes the result by many ops of its own, which are one to the program."""
    with DisableTorchFunction():  # The recorder has turned it on again for the program's call.
        return function(*args, **kwargs)


def _is_same(one: Opened, other: Opened) -> bool:
    return one[0] is other[0] and one[1:] == other[1:]


def _same_place(one: CodeType | None, other: CodeType) -> bool:
    """Whether code goes on with what another began."""
    where = other.co_filename, other.co_firstlineno
    return one is not None and (one.co_filename, one.co_firstlineno) == where


def callers_of(modules: Sequence[nn.Module], frames: Sequence[Frame]) -> list[Sequence[Frame]]:
    """For each of the modules that lines lie in, outermost first: the lines outside of its forward."""
    callers: list[Sequence[Frame]] = []
    for module in reversed(modules):
        code = code_of(type(module).forward)
        own = next((at for at, frame in enumerate(frames) if frame[0] is code), None)
        if own is not None:
            frames = frames[own + 1 :]
        callers.insert(0, frames)
    return callers


def _is_argument(source: str) -> bool:
    """Whether an input of captured code is an argument of its function, or in one of them, and no attribute of one."""
    return source.startswith("L[") and "." not in source
