"""Optimizers: who made them, what each step met and did, where their state lives."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

from msgspec.structs import replace
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from autograd_inspector.capture.graph_walk import short
from autograd_inspector.capture.guard import Guard
from autograd_inspector.capture.patches import observed
from autograd_inspector.capture.registry import shape_of, version_of
from autograd_inspector.capture.tape import Tape
from autograd_inspector.model.event import Change, ParameterStep, Step
from autograd_inspector.model.op import Trait, Write
from autograd_inspector.model.placement import Gradient, OptimizerRecord, ParameterRow, StateEntry

STEP = int(Trait.STEP)
_SHOWN_TYPES = (bool, int, float, str, type(None))


class _OpenStep:
    """A step that has begun: what its parameters looked like, and the frame it runs in."""

    def __init__(self, optimizer: int, at: int, site: int, before: list[tuple[Tensor, Tensor | None, int, int]]) -> None:
        self.optimizer = optimizer
        self.at = at
        self.site = site
        self.before = before
        self.inner = 0
        """Calls of the same optimizer's inherited ``step`` that are open inside."""


class _Load:
    """A state_dict on its way into an optimizer: its dtypes, group sizes, and the exception being handled then."""

    def __init__(self, dtypes: dict[str, str], sizes: list[int], handled: BaseException | None) -> None:
        self.dtypes = dtypes
        self.sizes = sizes
        self.handled = handled


class Optimizers:
    """Observes every torch.optim.Optimizer through the public global step hooks."""

    def __init__(self, tape: Tape, guard: Guard) -> None:
        self.tape = tape
        self._guard = guard
        tape.on_left = self._left
        self._known: dict[int, tuple[weakref.ref[Optimizer], int]] = {}
        self._dirty: set[int] = set()
        self._open: list[_OpenStep] = []
        self._changes = 0
        self.adopt: Callable[[list[Tensor]], None] = lambda parameters: None
        """Told the parameters of each optimizer met, so that whoever knows modules can name them."""

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Install the step hooks and the observers of construction and loading."""
        with ExitStack() as stack:
            stack.callback(register_optimizer_step_pre_hook(self._before_step).remove)
            stack.callback(register_optimizer_step_post_hook(self._after_step).remove)
            stack.enter_context(observed(Optimizer, "__init__", after=self._created, guard=self._guard))
            stack.enter_context(observed(Optimizer, "add_param_group", after=self._grown, guard=self._guard))
            stack.enter_context(
                observed(
                    Optimizer, "load_state_dict", before=self._loading, after=self._loaded, guard=self._guard
                )
            )
            stack.enter_context(observed(Optimizer, "zero_grad", after=self._zeroed, guard=self._guard))
            yield

    def close(self) -> None:
        """Let go of the steps that never came back."""
        self._guard(self._abandon_open)
        self._open.clear()

    def _left(self) -> None:
        self._guard(self._abandon_open)

    # --- who ---------------------------------------------------------------------------------------------------

    def id_of(self, optimizer: Optimizer) -> int:
        """The number of an optimizer, met now if never before."""
        known = self._known.get(id(optimizer))
        if known is not None and known[0]() is optimizer:
            return known[1]
        number = len(self.tape.optimizers)
        self._known[id(optimizer)] = (weakref.ref(optimizer), number)
        kind = type(optimizer)
        self.tape.optimizers[number] = OptimizerRecord(number, kind.__name__, kind.__module__)
        self._dirty.add(number)
        self._refresh(optimizer, number)
        self.adopt([p for group in optimizer.param_groups for p in group["params"]])
        return number

    def alive(self) -> list[tuple[int, Optimizer]]:
        """The optimizers of the capture that the program still holds."""
        pairs = [(number, ref()) for ref, number in self._known.values()]
        return [(number, optimizer) for number, optimizer in pairs if optimizer is not None]

    def _refresh(self, optimizer: Optimizer, number: int) -> None:
        ids = []
        for group in optimizer.param_groups:
            ids.append(tuple(self.tape.id_of(p) for p in group["params"]))
            self.tape.registry.parameters.update(ids[-1])
        self.tape.optimizers[number] = replace(
            self.tape.optimizers[number], parameters=tuple(ids), groups=tuple(map(_settings, optimizer.param_groups))
        )

    def _created(self, optimizer: Optimizer, _args: Any, _kwargs: Any, _before: Any) -> None:
        if not hasattr(optimizer, "param_groups"):
            return  # The constructor raised.
        number = self.id_of(optimizer)
        tape = self.tape
        tape.optimizers[number] = replace(
            tape.optimizers[number], site=tape.stacks.here(0), created_at=len(tape.ops)
        )
        tape.changes.append(
            Change(
                len(tape.ops),
                "optimizer_created",
                type(optimizer).__name__,
                tape.stacks.here(0),
                tuple(t for group in tape.optimizers[number].parameters for t in group),
                number,
            )
        )

    def _grown(self, optimizer: Optimizer, _args: Any, _kwargs: Any, _before: Any) -> None:
        known = self._known.get(id(optimizer))
        if known is not None and known[0]() is optimizer:
            self._refresh(optimizer, known[1])
            self._dirty.add(known[1])

    def _loading(self, optimizer: Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Load:
        given = args[1] if len(args) > 1 else kwargs.get("state_dict", {})
        sizes = [len(group.get("params", ())) for group in given.get("param_groups", ())]
        return _Load(_dtypes(given.get("state", {})), sizes, sys.exc_info()[1])

    def _loaded(self, optimizer: Optimizer, _args: Any, _kwargs: Any, load: _Load | None) -> None:
        tape = self.tape
        raised = sys.exc_info()[1]
        if load is not None and raised is not None and raised is not load.handled:
            own = [len(group["params"]) for group in optimizer.param_groups]
            detail = (f"error: {raised}", f"saved groups: {load.sizes}", f"own groups: {own}")
            api = f"{type(optimizer).__name__}.load_state_dict()"
            number = self.id_of(optimizer)
            ids = tuple(t for group in tape.optimizers[number].parameters for t in group)
            tape.changes.append(
                Change(len(tape.ops), "optimizer_load_failed", api, tape.stacks.here(0), ids, number, detail)
            )
            return
        number = self.id_of(optimizer)
        self._refresh(optimizer, number)
        self._dirty.add(number)
        after = _dtypes(optimizer.state)
        cast = tuple(
            f"{name}: {dtype} -> {after[name]}"
            for name, dtype in (load.dtypes if load is not None else {}).items()
            if name in after and after[name] != dtype and name != "step"
        )
        ids = tuple(t for group in tape.optimizers[number].parameters for t in group)
        tape.changes.append(
            Change(
                len(tape.ops),
                "optimizer_load_state_dict",
                f"{type(optimizer).__name__}.load_state_dict()",
                tape.stacks.here(0),
                ids,
                number,
                cast,
            )
        )

    def _zeroed(self, optimizer: Optimizer, _args: Any, _kwargs: Any, _before: Any) -> None:
        if self.tape.active():
            number = self.id_of(optimizer)
            tape = self.tape
            api = f"{type(optimizer).__name__}.zero_grad()"
            tape.changes.append(Change(len(tape.ops), "zero_grad", api, tape.stacks.here(0), (), number))

    # --- steps -------------------------------------------------------------------------------------------------

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
        number = self.id_of(optimizer)
        self._refresh(optimizer, number)
        changes = sum(1 for change in tape.changes if change.kind != "zero_grad")
        if number in self._dirty or changes != self._changes:
            self._changes = changes
            self.snapshot(optimizer, number)
        before = []
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                grad = parameter.grad if parameter.is_leaf else None
                version = -1 if grad is None else version_of(grad)
                before.append((parameter, grad, version_of(parameter), version))
        self._open.append(_OpenStep(number, len(tape.ops), tape.stacks.here(0), before))
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
                    tape.suspend(frame)

            return run

        if len(args) > 1 and callable(args[1]):
            return (args[0], wrapped(args[1]), *args[2:]), kwargs
        if callable(kwargs.get("closure")):
            return args, kwargs | {"closure": wrapped(kwargs["closure"])}
        return None

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
        known = self._known.get(id(optimizer))
        return bool(self._open) and known is not None and known[1] == self._open[-1].optimizer

    def _end(self, optimizer: Optimizer, opened: _OpenStep) -> None:
        self._record(opened, "", type(optimizer).__name__)
        number = opened.optimizer
        if number in self._dirty:
            self.snapshot(optimizer, number)
            self._dirty.discard(number)
        record = self.tape.optimizers[number]
        self.tape.optimizers[number] = replace(record, steps=record.steps + 1)

    def _abandon_open(self) -> None:
        """Steps that never came back: the exception that left them is known to whoever closes the capture."""
        while self._open:
            opened = self._open.pop()
            self._record(opened, "raised", self.tape.optimizers[opened.optimizer].type)

    def _record(self, opened: _OpenStep, error: str, kind: str) -> None:
        tape = self.tape
        facts, writes, gradients = [], [], []
        unseen = False
        for parameter, grad, version, grad_version in opened.before:
            number = tape.id_of(parameter)
            gradient = -1 if grad is None else tape.id_of(grad)
            after = version_of(parameter)
            if grad is not None:
                gradients.append(gradient)
                grad_after = version_of(grad)
                if not error or after != version:
                    unseen = unseen or after == version
                    writes.append(Write(number, tape.registry.storage_of(parameter), version, after))
            else:
                grad_after = -1
            facts.append(ParameterStep(number, gradient, version, after, grad_version, grad_after))
        op = tape.append(
            f"{kind}.step", tuple(gradients), writes=tuple(writes), traits=STEP, site=opened.site, error=error
        )
        tape.steps.append(Step(op, opened.optimizer, op, opened.site, tuple(facts), unseen, error))

    # --- placement ---------------------------------------------------------------------------------------------

    def snapshot(self, optimizer: Optimizer, number: int) -> None:
        """Read where this optimizer's parameters, gradients and state live now."""
        self.tape.rows[number] = list(rows_of(self.tape, optimizer, number))


def rows_of(tape: Tape, optimizer: Optimizer, number: int) -> Iterator[ParameterRow]:
    """One row a parameter of an optimizer (names and models are filled in when the tape freezes)."""
    for group_number, group in enumerate(optimizer.param_groups):
        for parameter in group["params"]:
            yield row_of(tape, parameter, number, group_number, optimizer.state.get(parameter, {}))


def row_of(tape: Tape, parameter: Tensor, optimizer: int, group: int, state: Any) -> ParameterRow:
    """The facts of one parameter, its gradient and its state: metadata only."""
    grad = parameter.grad if parameter.is_leaf else None
    gradient = None
    if grad is not None:
        gradient = Gradient(
            tuple(shape_of(grad)),
            short(grad.dtype),
            str(grad.device),
            bytes_of(grad),
            version_of(grad),
            tape.registry.storage_of(grad),
        )
    entries = [
        StateEntry(
            str(name),
            tuple(shape_of(value)),
            short(value.dtype),
            str(value.device),
            bytes_of(value),
            tape.registry.storage_of(value),
            tape.id_of(value),
        )
        for name, value in state.items()
        if isinstance(value, Tensor)
    ]
    return ParameterRow(
        tape.id_of(parameter),
        "",
        (),
        "",
        tuple(shape_of(parameter)),
        short(parameter.dtype),
        str(parameter.device),
        bytes_of(parameter),
        parameter.requires_grad,
        tape.registry.storage_of(parameter),
        gradient=gradient,
        optimizer=optimizer,
        group=group,
        state=tuple(entries),
    )


def bytes_of(tensor: Tensor) -> int:
    """Bytes of the tensor's own elements; 0 where it has no dense layout."""
    try:
        return tensor.numel() * tensor.element_size()
    except (RuntimeError, NotImplementedError):
        return 0


def _settings(group: dict[str, Any]) -> dict[str, str]:
    return {
        str(name): str(value)
        for name, value in group.items()
        if name != "params" and (isinstance(value, _SHOWN_TYPES) or (isinstance(value, tuple) and len(value) < 5))
    }


def _dtypes(state: Any) -> dict[str, str]:
    """The dtype of each kind of state entry ("exp_avg": "float32")."""
    found: dict[str, str] = {}
    for entries in state.values() if hasattr(state, "values") else ():
        if isinstance(entries, dict):
            for name, value in entries.items():
                if isinstance(value, Tensor):
                    found.setdefault(str(name), short(value.dtype))
    return found
