"""Running averages that a step of the program's own computes from its state, and does not write there.

State is a dictionary of tensors: what is written to one moves its version counter, what is assigned is another object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from torch import Tensor

from autograd_inspector.capture.observers.calls.special import EXPORTS, PASS
from autograd_inspector.capture.observers.optimizers.state_contents import Found, StateContents, plain_contents
from autograd_inspector.capture.observers.optimizers.watched_calls import READS, Call
from autograd_inspector.capture.recording.raw_records import FACT_BIRTH, OP_NAME
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import version_of


class Left(Struct, frozen=True):
    """What nobody kept: ``scaled`` and ``added`` computed it, ``maker`` is the call that had made the state."""

    entry: str
    maker: str
    scaled: str
    added: str
    site: int


class _Computed(Struct, frozen=True):
    """What was computed from one state: ``scaled`` by the first call, ``added`` by the one where a gradient came in."""

    state: int
    scaled: str
    added: str = ""
    site: int = -1


class StateWatch:
    """Follows the calls of one step from the state, and from the gradients, to what is computed of both."""

    def __init__(self, recording: Recording, state: Mapping[Any, Any], parameters: Iterable[Tensor]) -> None:
        self._recording = recording
        self._state = state
        self._parameters = list(parameters)
        enter, now = recording.registry.enter, len(recording.ops)
        self._own = {enter(parameter, -1, now).storage for parameter in self._parameters}
        """The memory of the parameters: what is written there is kept."""
        self._entries: dict[int, tuple[Tensor, str, int]] = {}
        """Number of a state's tensor -> (its parameter, its name, its version)."""
        self._storages: dict[int, int] = {}
        self._gradients: set[int] = set()
        """Gradients, and what is computed of them and of no state."""
        self._of: dict[int, _Computed] = {}
        self._mixed: set[int] = set()
        """What several states are in."""
        self._touched: set[int] = set()
        for parameter, found in self._held():
            entry = enter(found.tensor, -1, now)
            self._entries[entry.tensor] = parameter, found.name, version_of(found.tensor)
            self._storages[entry.storage] = entry.tensor
        self.made: dict[int, str] = {}
        """A tensor that a call of this step returned -> the first one that did."""

    def note(self, call: Call) -> None:
        """A call of torch in the step."""
        name, inputs, results = call.name, (*call.first, *call.rest), call.results
        states = {self._storages[s] for s in map(self._storage, inputs) if s in self._storages}
        if call.func in PASS:
            self._touched |= states
            return
        self._touched |= {self._storages.get(self._storage(number), -1) for number in call.written}
        if states and name not in READS and (call.func in EXPORTS or not results):
            self._touched |= states
        for number in results:
            self.made.setdefault(number, name)
            self._derive(number, inputs, name)

    def _derive(self, number: int, inputs: tuple[int, ...], name: str) -> None:
        storage = self._storage(number)
        if storage in self._storages or storage in self._own:
            return
        if name == "grad" and inputs:
            self._gradients.add(number)
            return
        states, computed = self._sources(inputs)
        if len(states) > 1 or not self._mixed.isdisjoint(inputs):
            self._mixed.add(number)
        elif states:
            of_gradient = not self._gradients.isdisjoint(inputs)
            before = computed or _Computed(states.pop(), name)
            if of_gradient and not before.added and self._shape(number) == self._shape(before.state):
                before = _Computed(before.state, before.scaled, name, self._recording.stacks.here(0))
            self._of[number] = before
        elif not self._gradients.isdisjoint(inputs):
            self._gradients.add(number)

    def _sources(self, inputs: tuple[int, ...]) -> tuple[set[int], _Computed | None]:
        """(the states that some tensors are, or are computed of; what was computed of one by then)."""
        own = {self._storages[s] for s in map(self._storage, inputs) if s in self._storages}
        computed = [self._of[number] for number in inputs if number in self._of]
        return own.union(each.state for each in computed), computed[0] if computed and not own else None

    def left(self, born: Mapping[int, str]) -> dict[Left, list[Tensor]]:
        """What was computed and is gone, of state that stays -> its parameters; ``born`` is state of earlier steps."""
        found: dict[Left, list[Tensor]] = {}
        now = {(id(parameter), each.name): each.tensor for parameter, each in self._held()}
        met: set[Left] = set()
        for number, computed in self._of.items():
            parameter, name, version = self._entries[computed.state]
            state, made = now.get((id(parameter), name)), self._made(computed.state, born)
            if (
                not computed.added
                or not made
                or computed.state in self._touched
                or state is None
                or self._recording.registry.enter(state, -1, len(self._recording.ops)).tensor != computed.state
                or version_of(state) != version
            ):
                continue
            left = Left(name, made, computed.scaled, computed.added, computed.site)
            if self._recording.registry.entries[number]() is not None:
                met.add(left)  # Somebody keeps it.
            elif all(parameter is not each for each in found.setdefault(left, [])):
                found[left].append(parameter)
        return {left: parameters for left, parameters in found.items() if left not in met}

    def _made(self, state: int, born: Mapping[int, str]) -> str:
        op = self._recording.ops.get(self._recording.registry.facts[state][FACT_BIRTH])
        return born.get(state) or ("" if op is None else op[OP_NAME])

    def born(self) -> dict[int, str]:
        """The tensors of the state that this step made -> by which call."""
        number_of = self._recording.id_of
        numbers = {number_of(found.tensor) for _, found in self._held()}
        return {number: name for number, name in self.made.items() if number in numbers}

    def _held(self) -> Iterator[tuple[Tensor, Found]]:
        for parameter in self._parameters:
            state = self._state.get(parameter, {})
            contents = plain_contents(state)
            for found in StateContents(state).tensors if contents is None else contents:
                yield parameter, found

    def _shape(self, number: int) -> Any:
        return self._recording.registry.facts[number][0]

    def _storage(self, number: int) -> int:
        return self._recording.registry.entries[number].storage
