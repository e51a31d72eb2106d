"""Optimizer steps: one record each, through torch's public global step hooks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from autograd_inspector.capture.calls.raised import UNKNOWN
from autograd_inspector.capture.guard import Guard
from autograd_inspector.capture.optimizers.spread import rank_here
from autograd_inspector.capture.registry import version_of
from autograd_inspector.capture.tape import Tape
from autograd_inspector.model.event import ParameterStep, Step
from autograd_inspector.model.op import Trait, Write

if TYPE_CHECKING:
    from autograd_inspector.capture.optimizers.known import Optimizers

STEP = int(Trait.STEP)


class _OpenStep:
    """A step that has begun: the versions of its parameters then, and of the gradients that it goes on with."""

    def __init__(self, optimizer: int, site: int, start: int, groups: list[dict[str, Any]]) -> None:
        self.optimizer = optimizer
        self.site = site
        self.start = start
        self.parameters = [parameter for group in groups for parameter in group["params"]]
        self.rates = tuple(_rate(group) for group in groups)
        self.closure = False
        self.versions = [version_of(parameter) for parameter in self.parameters]
        self.gradients: list[tuple[Tensor | None, int]] = []
        self.take_gradients()
        self.inner = 0
        """Calls of the same optimizer's inherited ``step`` that are open inside."""

    def take_gradients(self) -> None:
        """Note the gradients and their versions as they are now."""
        grads = [parameter.grad if parameter.is_leaf else None for parameter in self.parameters]
        self.gradients = [(grad, -1 if grad is None else version_of(grad)) for grad in grads]

    def before(self) -> Iterator[tuple[Tensor, int, Tensor | None, int]]:
        """(parameter, its version, gradient, its version)."""
        for parameter, version, (grad, grad_version) in zip(
            self.parameters, self.versions, self.gradients, strict=True
        ):
            yield parameter, version, grad, grad_version


class Steps:
    """Observes every step; recording pauses inside it, but for the program's own closure."""

    def __init__(self, tape: Tape, guard: Guard, optimizers: Optimizers) -> None:
        self.tape = tape
        self._guard = guard
        self._optimizers = optimizers
        self._open: list[_OpenStep] = []
        tape.on_left = self._left

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Install the global hooks."""
        with ExitStack() as stack:
            stack.callback(register_optimizer_step_pre_hook(self._before_step).remove)
            stack.callback(register_optimizer_step_post_hook(self._after_step).remove)
            yield

    def close(self) -> None:
        """Let go of the steps that never came back."""
        self._guard(self._abandon_open)
        self._open.clear()

    def _left(self) -> None:
        self._guard(self._abandon_open)

    def _before_step(self, optimizer: Optimizer, args: Any, kwargs: Any) -> tuple[Any, Any] | None:
        if not self.tape.here():
            return None
        if not self.tape.active():
            if self._is_open(optimizer):
                self._open[-1].inner += 1
            return None
        self._guard(self._begin, optimizer, sys._getframe(1))
        return self._with_closure(args, kwargs)

    def _begin(self, optimizer: Optimizer, frame: FrameType) -> None:
        tape = self.tape
        self._abandon_open()
        number = self._optimizers.id_of(optimizer)
        self._optimizers.changed_since(optimizer, number)
        self._open.append(_OpenStep(number, tape.stacks.here(0), len(tape.ops), optimizer.param_groups))
        tape.suspend(frame)

    def _with_closure(self, args: Any, kwargs: Any) -> tuple[Any, Any] | None:
        """Record again while the step runs the user's closure (forward and backward inside ``step``)."""
        tape = self.tape

        def wrapped(closure: Callable[..., Any]) -> Callable[..., Any]:
            def run(*a: Any, **k: Any) -> Any:
                frame = tape.resume()
                try:
                    return closure(*a, **k)
                finally:
                    self._guard(self._renew)
                    tape.suspend(frame)

            return run

        if len(args) > 1 and callable(args[1]):
            return (args[0], wrapped(args[1]), *args[2:]), kwargs
        if callable(kwargs.get("closure")):
            return args, kwargs | {"closure": wrapped(kwargs["closure"])}
        return None

    def _renew(self) -> None:
        """The closure has computed gradients: the step goes on with these."""
        if self._open:
            self._open[-1].closure = True
            self._open[-1].take_gradients()

    def _after_step(self, optimizer: Optimizer, _args: Any, _kwargs: Any) -> None:
        if not self.tape.here() or not self._is_open(optimizer):
            return
        opened = self._open[-1]
        if opened.inner:
            opened.inner -= 1
            return
        self.tape.resume()
        self._open.pop()
        self._guard(self._end, optimizer, opened)

    def _is_open(self, optimizer: Optimizer) -> bool:
        return bool(self._open) and self._optimizers.number_of(optimizer) == self._open[-1].optimizer

    def _end(self, optimizer: Optimizer, opened: _OpenStep) -> None:
        self._record(opened, "", type(optimizer).__name__, opened.site)
        number = opened.optimizer
        self._optimizers.look(optimizer, number)
        record = self.tape.optimizers[number]
        self.tape.optimizers[number] = replace(record, steps=record.steps + 1)
        self.tape.rank = rank_here(before=self.tape.rank)  # Programs destroy their process group at the end.
        if self.tape.on_step is not None:
            self.tape.on_step(number, self.tape.steps[-1].op)

    def _abandon_open(self) -> None:
        """Steps that never came back: the exception that left them is known to whoever closes the capture."""
        while self._open:
            opened = self._open.pop()
            site, text = self.tape.raised
            where = site if site >= 0 else opened.site
            self._record(opened, text if site >= 0 else UNKNOWN, self.tape.optimizers[opened.optimizer].type, where)

    def _record(self, opened: _OpenStep, error: str, kind: str, site: int) -> None:
        tape = self.tape
        facts, writes, gradients = [], [], []
        unseen = False
        enter, storage_of = tape.registry.enter, tape.registry.storage_of
        now = len(tape.ops)
        for parameter, version, grad, grad_version in opened.before():
            number = enter(parameter, -1, now).tensor
            after = version_of(parameter)
            if grad is None:
                facts.append(ParameterStep(number, -1, version, after, grad_version, -1))
                continue
            gradient = enter(grad, -1, now).tensor
            gradients.append(gradient)
            if not error or after != version:
                unseen = unseen or after == version
                writes.append(Write(number, storage_of(parameter), version, after))
            facts.append(ParameterStep(number, gradient, version, after, grad_version, version_of(grad)))
        op = tape.append(f"{kind}.step", tuple(gradients), writes=tuple(writes), traits=STEP, site=site, error=error)
        tape.steps.append(
            Step(
                op,
                opened.optimizer,
                op,
                opened.site,
                tuple(facts),
                unseen,
                error,
                opened.start,
                opened.rates,
                opened.closure,
            )
        )


def _rate(group: dict[str, Any]) -> float:
    """The learning rate of a group; -1 for a tensor, whose value is not read, and where there is none."""
    rate = group.get("lr")
    return float(rate) if isinstance(rate, (int, float)) else -1.0
