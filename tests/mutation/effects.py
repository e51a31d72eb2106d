"""What a planted fault changes, measured without the inspector: two runs are compared."""

from __future__ import annotations

import gc
import hashlib
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from .running import loaded, quietly, seeded

RAISES: Final = "raises"
STARVES: Final = "starves"
CHANGES: Final = "changes"
LEAKS: Final = "leaks"
NOTHING: Final = ""
ROUNDS: Final = 2
"""What is alive grows so often at least, which three rounds do: once is no leak, but the last round's variables."""


@dataclass
class Ran:
    """A run, as far as it can be compared: what was there after each backward and at each step."""

    error: str = ""
    states: list[str] = field(default_factory=list)
    """Digests of the parameters and their gradients."""
    learning: list[int] = field(default_factory=list)
    """How many of these had a gradient that is not zero."""
    alive: list[int] = field(default_factory=list)
    """How many tensors were kept for a backward, and how many nodes of graphs were there."""


def effect(original: Ran, mutant: Ran) -> str:
    """What a fault does, or NOTHING."""
    if mutant.error != original.error:
        return RAISES
    if _mean(mutant.learning) < _mean(original.learning):
        return STARVES
    if mutant.states != original.states:
        return CHANGES
    return LEAKS if _rounds_of_growth(original.alive, mutant.alive) >= ROUNDS else NOTHING


def _mean(numbers: list[int]) -> float:
    return sum(numbers) / max(1, len(numbers))


def _rounds_of_growth(before: list[int], after: list[int]) -> int:
    """How often a program has more alive, compared with the original, than it ever had."""
    more = [mutant - original for original, mutant in zip(before, after, strict=False)]
    return len(set(accumulate(more, max))) - 1


def observed(path: str, *, memory: bool) -> dict[str, Any]:
    """Run the program of a file, to be called in a fork.

    With ``memory`` the saved tensors are counted, which keeps torch from looking at their versions: a run of its own.
    """
    ran = Ran()
    saved: weakref.WeakSet[_Saved] = weakref.WeakSet()

    def note() -> None:
        if memory:
            gc.collect()
            ran.alive.append(len(saved) + _graph(_alive()))
            return
        leaves = _trained()
        ran.states.append(_digest(leaves))
        ran.learning.append(sum(each.grad is not None and bool(each.grad.count_nonzero()) for each in leaves))

    with quietly(), _noting(note):
        module = loaded(Path(path))
        seeded()
        try:
            with (
                torch.autograd.graph.saved_tensors_hooks(lambda tensor: _kept(tensor, saved), _Saved.back)
                if memory
                else nullcontext()
            ):
                module.run()
        except Exception as error:
            ran.error = f"{type(error).__name__}: {error}"
    return asdict(ran)


class _Saved:
    """Detached: a saved result that knew its node would keep it for ever."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor.detach()

    def back(self) -> Tensor:
        return self.tensor


def _kept(tensor: Tensor, saved: weakref.WeakSet[_Saved]) -> _Saved:
    one = _Saved(tensor)
    saved.add(one)
    return one


@contextmanager
def _noting(note: Any) -> Iterator[None]:
    """Call it after each backward, and before and after each step; not inside of a backward."""
    backward = torch.autograd.backward
    running = 0

    def noted(*arguments: Any, **options: Any) -> None:
        nonlocal running
        running += 1
        backward(*arguments, **options)
        running -= 1
        if not running:
            note()

    handles = [
        register_optimizer_step_pre_hook(lambda *_: note()),
        register_optimizer_step_post_hook(lambda *_: note()),
    ]
    torch.autograd.backward = noted
    try:
        yield
    finally:
        torch.autograd.backward = backward
        for handle in handles:
            handle.remove()


def _alive() -> list[Tensor]:
    """The tensors that Python knows: what was there before the fork is frozen, and not among them."""
    return [each for each in gc.get_objects() if isinstance(each, Tensor)]


def _trained() -> list[Tensor]:
    """Parameters and what optimizers hold; where there are none, the leaves with a gradient."""
    optimizers = [each for each in gc.get_objects() if isinstance(each, Optimizer)]
    held = {id(each) for one in optimizers for group in one.param_groups for each in group["params"]}
    alive = _alive()
    trained = [each for each in alive if isinstance(each, nn.Parameter) or id(each) in held]
    return trained or [each for each in alive if each.is_leaf and each.grad is not None]


def _graph(tensors: list[Tensor]) -> int:
    """How many nodes are behind tensors."""
    seen = set()
    left = [each.grad_fn for each in tensors if each.grad_fn is not None]
    while left:
        node = left.pop()
        if node not in seen:
            seen.add(node)
            left += [before for before, _ in node.next_functions if before is not None]
    return len(seen)


def _digest(leaves: list[Tensor]) -> str:
    """The same for the same tensors in any order."""
    told = sorted(f"{_bits(each)} {_bits(each.grad)}" for each in leaves)
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]


def _bits(tensor: Tensor | None) -> str:
    if tensor is None:
        return "none"
    if tensor.is_meta:
        return f"meta {tuple(tensor.shape)}"
    plain = tensor.detach().to_dense() if tensor.layout != torch.strided else tensor.detach()
    return (
        hashlib.sha256(plain.contiguous().view(torch.uint8).numpy().tobytes()).hexdigest()[:16]
        if plain.dim()
        else str(plain.item())
    )
