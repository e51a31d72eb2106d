"""The same program where nothing is ever modified: each write binds new tensors, in double precision.

A tensor is an index into memory. The memory holds the values; a history holds, for the same places, the tensor that
gradient comes from. A write that autograd records replaces both; a hidden one (`.data`, `detach()`, NumPy, under
no_grad) only the values. A read has the values of the memory and the derivative of the history.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

VIEWS = {"t", "view", "unsqueeze", "diagonal", "select", "narrow", "expand", "chunk", "unbind", "split"}
CONSTANT = {"zero": 0.0, "fill": None}


class UndefinedError(Exception):
    """An in-place op reads, in another arrangement, the memory that it writes: what it finds there depends on luck."""


class Memory:
    """The values, flat."""

    def __init__(self, values: Tensor) -> None:
        self.values = values


class History:
    """What gradient comes from, flat, at the same places as the memory's values."""

    def __init__(self, memory: Memory, tensor: Tensor) -> None:
        self.memory = memory
        self.tensor = tensor


class Through(torch.autograd.Function):
    """These values to the bit (a sum would round, across the kink of a clamp), with the other's derivative."""

    @staticmethod
    def forward(_ctx: Any, _recorded: Tensor, values: Tensor) -> Tensor:
        return values.clone()

    @staticmethod
    def backward(_ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0], None


class Handle:
    """A variable of the program: places of a memory, and one of the histories of those places."""

    def __init__(self, history: History, index: Tensor, *, cut: bool = False) -> None:
        self.history = history
        self.index = index
        self.cut = cut

    @classmethod
    def of(cls, tensor: Tensor) -> Handle:
        """New memory with the tensor's values, and its history."""
        memory = Memory(tensor.detach().flatten())
        index = torch.arange(tensor.numel()).reshape(tensor.shape)
        return cls(History(memory, tensor.flatten()), index)

    @property
    def requires_grad(self) -> bool:
        return self.history.tensor.requires_grad and not self.cut

    def read(self) -> Tensor:
        """The values of now, with the derivative of what autograd recorded."""
        values = self.history.memory.values[self.index]
        if not self.requires_grad:
            return values
        result: Tensor = Through.apply(self.history.tensor[self.index], values)
        return result

    def write(self, new: Tensor) -> Handle:
        """Bind memory, and where autograd records also the history, to copies with these values."""
        history, places = self.history, self.index.flatten()
        new = new.to(history.memory.values.dtype).expand(self.index.shape).flatten()
        values = history.memory.values
        if torch.is_grad_enabled() and (new.requires_grad or history.tensor.requires_grad):
            base = history.tensor if history.tensor.requires_grad else values
            history.tensor = base.index_put((places,), new)
        history.memory.values = values.index_put((places,), new.detach())
        return self

    def alias(self) -> Handle:
        """The same memory, no history."""
        memory = self.history.memory
        return Handle(History(memory, memory.values), self.index)

    detach = alias
    data = property(alias)

    def numpy(self) -> Handle:
        return self

    def seen(self, index: Tensor) -> Handle:
        """A view: other places of the same memory, with the same history."""
        return Handle(self.history, index, cut=self.cut or not torch.is_grad_enabled())

    def __getitem__(self, key: Any) -> Handle:
        return self.seen(self.index[key])

    def __setitem__(self, key: Any, value: Any) -> None:
        target = Handle(self.history, self.index[key])
        target.write(value.read() if isinstance(value, Handle) else torch.tensor(value))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name in VIEWS:
            return lambda *args: _mapped(self.seen, getattr(self.index, name)(*args))
        if name.endswith("_") and not name.startswith("_"):
            return lambda *args, **kwargs: self._modified(name[:-1], args, kwargs)
        return lambda *args, **kwargs: Handle.of(self._computed(name, args, kwargs))

    def _modified(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Handle:
        self._apart(args)
        return self.write(self._computed(name, args, kwargs))

    def _apart(self, args: tuple[Any, ...]) -> None:
        """An operand is the very same places, or none of those that are written."""
        written = set(self.index.flatten().tolist())
        for other in args:
            same = isinstance(other, Handle) and other.history.memory is self.history.memory
            if same and not torch.equal(other.index, self.index) and written & set(other.index.flatten().tolist()):
                raise UndefinedError

    def _computed(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        values = [arg.read() if isinstance(arg, Handle) else arg for arg in args]
        if name == "copy":
            return values[0]
        if name in CONSTANT:
            return torch.tensor(values[0] if values else CONSTANT[name])
        result: Tensor = getattr(self.read(), name)(*values, **kwargs)
        return result

    def backward(self, retain_graph: bool = False) -> None:
        """Views save places here that they need not save in the program: nothing is freed."""
        self.read().backward(retain_graph=True)


def _operator(name: str) -> Callable[[Handle, Any], Handle]:
    return lambda self, other: Handle.of(self._computed(name, (other,), {}))


def _augmented(name: str) -> Callable[[Handle, Any], Handle]:
    return lambda self, other: self._modified(name, (other,), {})


for _symbol in ("add", "sub", "mul", "matmul"):
    setattr(Handle, f"__{_symbol}__", _operator(_symbol))
    setattr(Handle, f"__i{_symbol}__", _augmented(_symbol))


def _mapped(view: Callable[[Tensor], Handle], tensors: Any) -> Any:
    return view(tensors) if isinstance(tensors, Tensor) else tuple(map(view, tensors))


class Statistics:
    """``F``: a batch norm in training mode binds new running statistics."""

    @staticmethod
    def batch_norm(source: Handle, mean: Handle, var: Handle, *, training: bool) -> Handle:
        statistics = mean.read().clone(), var.read().clone()
        result = F.batch_norm(source.read(), *statistics, training=training)
        with torch.no_grad():
            mean.write(statistics[0])
            var.write(statistics[1])
        return Handle.of(result)


class Stepper:
    """An optimizer that steps parameters of its own and then binds the results."""

    def __init__(self, text: str, leaves: dict[str, Handle]) -> None:
        self.leaves = leaves
        self.own = {name: torch.nn.Parameter(leaf.read().detach().clone()) for name, leaf in leaves.items()}
        space: dict[str, Any] = {"torch": torch, **self.own}
        exec(text, space)
        self.optimizer: torch.optim.Optimizer = space["optimizer"]

    def step(self) -> None:
        for name, leaf in self.leaves.items():
            parameter, gradient = self.own[name], gradient_of(leaf)
            with torch.no_grad():
                parameter.copy_(leaf.read())
            parameter.grad = None if gradient is None else gradient.clone()
        self.optimizer.step()
        with torch.no_grad():
            for name, leaf in self.leaves.items():
                leaf.write(self.own[name].detach().clone())

    def zero_grad(self) -> None:
        for leaf in self.leaves.values():
            leaf.history.tensor.grad = None


def gradient_of(leaf: Handle) -> Tensor | None:
    """The gradient that a leaf has, in its shape."""
    gradient = leaf.history.tensor.grad
    return None if gradient is None else gradient.reshape(leaf.index.shape)
