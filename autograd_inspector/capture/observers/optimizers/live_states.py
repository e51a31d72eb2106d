"""Results of ``optimizer.state_dict()``: they hold the very tensors that the optimizer goes on updating."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from autograd_inspector.capture.observers.optimizers.groups import table
from autograd_inspector.capture.observers.optimizers.spread import state_of
from autograd_inspector.capture.tensors.attributes import version_of
from autograd_inspector.capture.undisturbed.guard import Guard

_KEPT = 256
"""Results that are remembered: who takes more, for checkpoints, writes them to files."""


class LiveStates:
    """Remembers where each was taken, and how often its tensors had been written to by then."""

    def __init__(self, here: Callable[[], int]) -> None:
        self._here = here
        self._taken: dict[int, tuple[int, int]] = {}
        """Python's id of the dictionary of states -> (site, sum of versions); a later one of that id replaces it."""

    def taken(self, result: Any) -> None:
        """``state_dict()`` returned that."""
        states = table(result).get("state")
        if type(states) is dict and states:
            self._taken.pop(id(states), None)
            self._taken[id(states)] = self._here(), _versions(states)
            if len(self._taken) > _KEPT:
                del self._taken[next(iter(self._taken))]

    def written_since(self, optimizer: Optimizer, state_dict: Any) -> int | None:
        """The site that took it, where it is about to be loaded into the optimizer that has written to it since."""
        states = table(table(state_dict).get("state"))
        taken = self._taken.get(id(states)) if states else None
        if taken is None or _versions(states) == taken[1]:
            return None
        own = {id(value) for value in _tensors(state_of(optimizer))}
        return taken[0] if all(id(value) in own for value in _tensors(states)) else None


class TakenProbe:
    """In ``Optimizer.state_dict``: whose it is, and what it returned."""

    def __init__(self, guard: Guard, taken: Callable[[Optimizer, Any], None]) -> None:
        self._guard = guard
        self._taken = taken

    def before(self, seen: list[Any], optimizer: Optimizer, /, *_args: Any, **_kwargs: Any) -> None:
        """It is asked for its state."""
        seen += (optimizer,)

    def after(self, seen: list[Any], result: Any, /) -> Any:
        """It is a state_dict."""
        if seen and self._guard.recording.here():
            self._guard.run(self._taken, seen[0], result)
        return result

    def failed(self, seen: list[Any], _error: BaseException, /) -> None:
        """It returned nothing."""


def _versions(states: Mapping[Any, Any]) -> int:
    return sum(map(version_of, _tensors(states)))


def _tensors(states: Mapping[Any, Any]) -> list[Tensor]:
    return [value for each in states.values() for value in table(each).values() if isinstance(value, Tensor)]
