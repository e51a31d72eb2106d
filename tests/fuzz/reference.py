"""The gradient of what was recorded: saved tensors keep the values that the forward had."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from .out_of_place import Handle, Statistics, Stepper, gradient_of
from .program import Program
from .running import LEAVES, Run, bits, kept, run


def recorded(program: Program) -> Run:
    """Run a program whose gradients are those of the recorded values, whatever it writes afterwards."""
    with kept():
        return run(program, replacing={"checkpoint": _called, "F": _KEEPING})


def out_of_place(program: Program, dtype: torch.dtype = torch.float64) -> dict[str, Tensor | None]:
    """The gradients of the program in which every write binds new tensors."""
    start = run(program.until(-1)).space
    handles: dict[str, Handle] = {}
    for name, tensor in start.items():
        if isinstance(tensor, Tensor):
            handle = handles[name] = Handle.of(tensor.detach().to(dtype))
            handle.history.tensor = handle.history.tensor.detach().requires_grad_(tensor.requires_grad)
            if tensor.grad is not None:
                handle.history.tensor.grad = tensor.grad.to(dtype).flatten()
    replacing: dict[str, Any] = {**handles, "checkpoint": _called, "F": Statistics}
    leaves = {name: handle for name, handle in handles.items() if name in LEAVES}
    made = [line for line in program.prelude if line.startswith("optimizer")]
    if made:
        replacing["optimizer"] = Stepper(made[0], leaves)
    ended = run(program, replacing=replacing)
    if ended.error is not None:
        raise ended.error
    return {name: gradient_of(leaf) for name, leaf in leaves.items()}


def touched(program: Program) -> bool:
    """Whether a write reached memory that backward read as a saved value, or that a checkpoint read again.

    Each write is followed by a stamp, a value that was never there: so one that writes what was there before, or
    whose effect is multiplied by zero, counts as well. An inspector that reads no values cannot tell those apart.
    """
    changed: list[bool] = []
    stamps = _Stamps()

    def checkpoint(function: Callable[..., Tensor], *arguments: Tensor, use_reentrant: bool) -> Tensor:
        globals_ = function.__globals__
        read = [*arguments, *(globals_[n] for n in function.__code__.co_names if isinstance(globals_.get(n), Tensor))]
        before = [bits(tensor) for tensor in read]
        result = _called(function, *arguments, use_reentrant=use_reentrant)
        if result.requires_grad:

            def look(_: Tensor) -> None:
                changed.extend(True for tensor, bit in zip(read, before, strict=True) if bits(tensor) != bit)

            result.register_hook(look)
        return result

    with kept(changed):
        replacing = {"checkpoint": checkpoint, "F": _KEEPING, "stamp": stamps.stamp, "stepped": stepped}
        run(program, stamped=True, replacing=replacing)
    return bool(changed)


class _Stamps:
    def __init__(self) -> None:
        self.last = 1000.0

    def stamp(self, *tensors: Tensor) -> None:
        for tensor in tensors:
            self.last += 1.0
            tensor.data.fill_(self.last)


def stepped(optimizer: torch.optim.Optimizer) -> list[Tensor]:
    """The parameters that a step changes."""
    return [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]


def _called(function: Callable[..., Tensor], *arguments: Tensor, use_reentrant: bool) -> Tensor:
    """What a checkpoint records: the function itself; a reentrant one nothing, if no argument requires grad."""
    if use_reentrant and not any(tensor.requires_grad for tensor in arguments):
        with torch.no_grad():
            return function(*arguments)
    return function(*arguments)


def _batch_norm(source: Tensor, mean: Tensor, var: Tensor, *, training: bool) -> Any:
    """In training mode the statistics are saved but not differentiated through: give it some of its own."""
    if not training:
        return F.batch_norm(source, mean, var, training=False)
    statistics = mean.clone(), var.clone()
    result = F.batch_norm(source, *statistics, training=True)
    mean.data.copy_(statistics[0])
    var.data.copy_(statistics[1])
    return result


_KEEPING = SimpleNamespace(batch_norm=_batch_norm)
