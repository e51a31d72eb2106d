"""A step that has begun: the versions of its parameters then, and of the gradients that it goes on with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import CodeType, FrameType
from typing import Any, NamedTuple, Protocol

from torch import Tensor

from autograd_inspector.capture.observers.optimizers.groups import rate_of
from autograd_inspector.capture.observers.optimizers.state_watch import StateWatch
from autograd_inspector.capture.observers.optimizers.step_watch import StepWatch
from autograd_inspector.capture.recording.pauses import Pause
from autograd_inspector.capture.recording.registry import Registry
from autograd_inspector.capture.tensors.attributes import gradient_of, is_leaf, is_meta, needs_grad, version_of
from autograd_inspector.capture.tensors.reading import any_nonzero, bits


class Watcher(Protocol):
    """Who follows the steps that are open."""

    def crossed(self, step: OpenStep) -> None:
        """The step's closure was called, or is done."""

    def lost(self, step: OpenStep) -> None:
        """An exception left the step."""


class Given(NamedTuple):
    """A gradient that a step was given: whoever clears it in the step must free it, so it is not kept alive."""

    registry: Registry
    number: int
    version: int

    def live(self) -> Tensor | None:
        """The gradient, while there is one."""
        return next((tensor for _, tensor in self.registry.alive((self.number,))), None)


class OpenStep(Pause):
    """Recording pauses inside it, but for the closure that it was given."""

    def __init__(self, watcher: Watcher, registry: Registry, frame: FrameType, codes: Iterable[CodeType]) -> None:
        super().__init__(frame, codes)
        self._registry = registry
        self._watcher = watcher
        self.optimizer = self.site = self.start = -1
        self.parameters: list[Tensor] = []
        self.rates: tuple[float, ...] = ()
        self.versions: list[int] = []
        self.circumstances: list[tuple[int, bool, bool]] = []
        """(its group, whether it is frozen, whether it has state without data) of each parameter."""
        self.gradients: list[Given | None] = []
        self.state: Mapping[Any, Any] = {}
        self._bare: frozenset[int] = frozenset()
        """Python's ids of the parameters that had no state."""
        self._bits: dict[int, int | None] = {}
        """Python's ids of the parameters with a gradient to move by -> what their values were."""
        self.closure = self.compiled = self.hooked = False
        self.watch: StepWatch | None = None
        self.states: StateWatch | None = None

    def begins(
        self, optimizer: int, site: int, start: int, groups: list[dict[str, Any]], state: Mapping[Any, Any]
    ) -> None:
        """Note where it begins and what it is given."""
        self.optimizer, self.site, self.start = optimizer, site, start
        self.parameters = [parameter for group in groups for parameter in group["params"]]
        self.rates = tuple(map(rate_of, groups))
        self.versions = [version_of(parameter) for parameter in self.parameters]
        self.circumstances = [
            (number, not needs_grad(parameter), _dataless(parameter, state.get(parameter)))
            for number, group in enumerate(groups)
            for parameter in group["params"]
        ]
        self.state = state
        self._bare = frozenset([id(parameter) for parameter in self.parameters if not _has(state, parameter)])
        self.take_gradients(start)

    def begun(self, parameter: Tensor) -> bool:
        """Whether the step made the state that a parameter has now."""
        return id(parameter) in self._bare and _has(self.state, parameter)

    def read_values(self) -> None:
        """Note the values of the parameters that have a gradient other than zeros."""
        for parameter, given in zip(self.parameters, self.gradients, strict=True):
            gradient = None if given is None else given.live()
            if gradient is not None and any_nonzero(gradient):
                self._bits[id(parameter)] = bits(parameter)

    def still(self, parameter: Tensor) -> bool:
        """Whether the values of a parameter are those that were read."""
        before = self._bits.get(id(parameter))
        return before is not None and bits(parameter) == before

    def take_gradients(self, now: int) -> None:
        """Note the gradients and their versions as they are now, behind so many ops."""
        self.gradients = [self._gradient_before(parameter, now) for parameter in self.parameters]

    def _gradient_before(self, parameter: Tensor, now: int) -> Given | None:
        grad = gradient_of(parameter) if is_leaf(parameter) else None
        if grad is None:
            return None
        return Given(self._registry, self._registry.enter(grad, -1, now).tensor, version_of(grad))

    def before(self) -> Iterator[tuple[Tensor, int, Given | None, tuple[int, bool, bool]]]:
        """(parameter, its version, its gradient, its circumstances)."""
        yield from zip(self.parameters, self.versions, self.gradients, self.circumstances, strict=True)

    def crossed(self) -> None:
        """Tell who follows it."""
        self._watcher.crossed(self)

    def lost(self) -> None:
        """Tell who follows it."""
        self._watcher.lost(self)


def _dataless(parameter: Tensor, state: Any) -> bool:
    """Whether some of a parameter's state is on meta, and it itself is not."""
    if not issubclass(type(state), dict) or is_meta(parameter):
        return False
    return any(is_meta(value) for value in dict.values(state) if issubclass(type(value), Tensor))


def _has(state: Mapping[Any, Any], parameter: Tensor) -> bool:
    """Whether there is anything in a parameter's state."""
    entry = state.get(parameter)
    return dict.__len__(entry) > 0 if isinstance(entry, dict) else entry is not None
