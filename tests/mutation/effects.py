"""What a planted fault changes, measured without the inspector: two runs are compared."""

from __future__ import annotations

import gc
import hashlib
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from itertools import accumulate, count
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils.weak import WeakIdKeyDictionary

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
    learning: int = 0
    """How many of these had a gradient of numbers other than 0, once or more often in the second half of the run.

    A gradient may be zero at first, as that of LoRA's A is: what has one later does not starve. NaN teaches nothing.
    """
    alive: list[int] = field(default_factory=list)
    """How many tensors were kept for a backward, and how many nodes of graphs were there."""


def effect(original: Ran, mutant: Ran) -> str:
    """What a fault does, or NOTHING."""
    if mutant.error != original.error:
        return RAISES
    if mutant.learning < original.learning:
        return STARVES
    if mutant.states != original.states:
        return CHANGES
    return LEAKS if _rounds_of_growth(original.alive, mutant.alive) >= ROUNDS else NOTHING


def _rounds_of_growth(before: list[int], after: list[int]) -> int:
    """How often a program has more alive, compared with the original, than it ever had.

    Not what is more in every round alike: a graph with one more node, a hook's, is no leak, so that growth has to go on
    in the second half of the run.
    """
    more = [mutant - original for original, mutant in zip(before, after, strict=False)]
    most = list(accumulate(more, max))
    half = len(most) // 2
    return len(set(most)) - 1 if most and most[-1] > most[half] else 0


def observed(path: str, *, memory: bool) -> dict[str, Any]:
    """Run the program of a file, to be called in a fork.

    With ``memory`` the saved tensors are counted, which keeps torch from looking at their versions: a run of its own.
    """
    ran = Ran()
    learning: list[set[int]] = []
    numbers = count()
    serial: WeakIdKeyDictionary = WeakIdKeyDictionary()  # Python's id may be another tensor's later.
    saved: weakref.WeakSet[_Saved] = weakref.WeakSet()

    def note() -> None:
        if memory:
            gc.collect()
            ran.alive.append(len(saved) + _graph(_alive()))
            return
        leaves = _trained()
        ran.states.append(_digest(leaves))
        moved = (each for each in leaves if each.grad is not None and _teaches(each.grad))
        learning.append({serial.setdefault(each, next(numbers)) for each in moved})

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
    ran.learning = len(set().union(*learning[len(learning) // 2 :]))
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


def _teaches(gradient: Tensor) -> bool:
    dense = gradient if gradient.layout == torch.strided else gradient.to_dense()
    return bool((dense.isfinite() & (dense != 0)).any())


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
