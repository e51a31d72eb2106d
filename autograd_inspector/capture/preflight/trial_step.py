"""One training step on a copy of the model, and what it did for each parameter."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from typing import Any

import torch
from msgspec.structs import replace
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim import Optimizer

from autograd_inspector.capture.lines.tracebacks import without_own_frames
from autograd_inspector.capture.module_tree import named_parameters, parameters_of
from autograd_inspector.capture.observers.optimizers.placement import unwrapped
from autograd_inspector.capture.preflight.model_copy import ModelCopy, PreflightError, leave_alone
from autograd_inspector.capture.preflight.random_streams import keep_streams
from autograd_inspector.capture.session import Session
from autograd_inspector.capture.undisturbed.holding import during
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.learning import GradientKind, Learning, Standing

LossFn = Callable[[Any, Any], Tensor]


def try_step(
    model: nn.Module, batch: Any, loss_fn: LossFn, optimizer: Optimizer, session: Session
) -> tuple[Capture, tuple[Learning, ...], str]:
    """(what was observed, what each parameter did, the traceback of the step that raised)."""
    originals = Installation()
    try:
        keep_streams(originals)
        leave_alone(originals, model, optimizer)
        twin = ModelCopy(model, optimizer, batch)
        originals.made(session.abandon)  # It is over by then, unless something raised.
        session.start(held=during(sys._getframe()), by_program=True)
        session.introduce([twin.model], [twin.optimizer])
        capture, failure = _observed(twin, loss_fn, session)
        learnings = _learnings(model, optimizer, twin)
        if not failure and any(each.meant and each.gradient == "zero" for each in learnings):
            learnings = _second_look(model, optimizer, twin, loss_fn, learnings)
        return capture, learnings, failure
    finally:
        try:
            originals.take_back()
        finally:
            originals.take_back()  # An interrupt may have struck before the first instruction of the other.


def _observed(twin: ModelCopy, loss_fn: LossFn, session: Session) -> tuple[Capture, str]:
    try:
        _step(twin, loss_fn)
    except PreflightError:
        raise
    except Exception as error:
        return session.finish(error), _traceback_text(error)
    return session.finish(), ""


def checked(model: Any, loss_fn: Any, optimizer: Any) -> Optimizer:
    """The optimizer without its wrappers; raises TypeError, in one line, for what preflight() cannot use."""
    inner: Any = unwrapped(optimizer)
    if not isinstance(model, nn.Module):
        raise TypeError(f"preflight: expected a torch.nn.Module as model, got {type(model).__name__}")
    if not isinstance(inner, Optimizer):
        raise TypeError(f"preflight: expected a torch.optim.Optimizer as optimizer, got {type(optimizer).__name__}")
    if isinstance(loss_fn, nn.Module) or getattr(loss_fn, "__module__", "") == F.__name__ or not callable(loss_fn):
        name = getattr(loss_fn, "__name__", type(loss_fn).__name__)
        raise TypeError(f"preflight: expected a function loss_fn(model, batch) that returns the loss, got {name}")
    return inner


def _step(twin: ModelCopy, loss_fn: LossFn) -> None:
    def loss() -> Tensor:
        value = _checked(loss_fn(twin.model, twin.batch))
        value.backward()
        return value

    optimizer: Any = twin.optimizer
    if _needs_closure(optimizer):
        optimizer.step(lambda: (optimizer.zero_grad(), loss())[1])
    else:
        loss()
        optimizer.step()


def _needs_closure(optimizer: Optimizer) -> bool:
    """LBFGS evaluates the loss itself, several times a step."""
    return isinstance(optimizer, torch.optim.LBFGS)


def _checked(loss: Any) -> Tensor:
    if isinstance(loss, Tensor) and loss.numel() == 1:
        return loss
    if isinstance(loss, Tensor):
        description = f"a tensor of shape {tuple(loss.shape)}; reduce it, e.g. with .mean()"
    elif isinstance(getattr(loss, "loss", None), Tensor):
        description = f"{type(loss).__name__}; return its .loss"
    else:
        description = f"{type(loss).__name__}"
    raise PreflightError(f"preflight: loss_fn(model, batch) must return a scalar tensor, not {description}")


def _second_look(
    model: nn.Module, optimizer: Optimizer, twin: ModelCopy, loss_fn: LossFn, first: tuple[Learning, ...]
) -> tuple[Learning, ...]:
    """A factor of a product whose other factor is zero (LoRA) has a gradient of zero in the first step only."""
    twin.optimizer.zero_grad()
    try:
        _step(twin, loss_fn)
    except Exception:
        return first
    second = _learnings(model, optimizer, twin)
    return tuple(
        replace(after, late=True) if before.gradient == "zero" and after.ok else before
        for before, after in zip(first, second, strict=True)
    )


def _learnings(model: nn.Module, optimizer: Optimizer, twin: ModelCopy) -> tuple[Learning, ...]:
    names: dict[int, list[str]] = {}
    alive: dict[int, Tensor] = {}
    for name, parameter in named_parameters(model):
        names.setdefault(id(parameter), []).append(name)
        alive[id(parameter)] = parameter
    rates: dict[int, Any] = {}
    for place, group in enumerate(optimizer.param_groups):
        for number, parameter in enumerate(group["params"]):
            rates[id(parameter)] = group.get("lr")
            alive[id(parameter)] = parameter
            names.setdefault(id(parameter), [f"param_groups[{place}]['params'][{number}]"])
    inside = {id(parameter) for parameter in parameters_of(model)}
    return tuple(
        Learning(
            tuple(names[key]),
            _standing(parameter, held=key in rates, inside=key in inside),
            _gradient(twin.of[key]),
            _moved(parameter, twin.of[key]),
            None if rates.get(key) is None else float(rates[key]),
        )
        for key, parameter in alive.items()
    )


def _standing(parameter: Tensor, *, held: bool, inside: bool) -> Standing:
    if not inside:
        return "not in the model"
    if not parameter.requires_grad:
        return "frozen"
    return "learns" if held else "not in the optimizer"


def _gradient(parameter: Tensor) -> GradientKind:
    grad = parameter.grad
    if grad is None:
        return "none"
    if grad.is_meta:
        return "unread"
    values = grad.coalesce().values() if grad.layout == torch.sparse_coo else grad
    if not bool(torch.isfinite(values).all()):
        return "not finite"
    return "some" if bool(values.any()) else "zero"


def _moved(before: Tensor, after: Tensor) -> bool:
    return not before.is_meta and not torch.equal(before, after)


def _traceback_text(error: Exception) -> str:
    """The traceback as text: an exception that is kept keeps all tensors of its frames."""
    without_own_frames(error)
    return "".join(traceback.format_exception(error)).rstrip()
