"""Statistics over the steps of a run: told what modules return and what optimizers do, it measures and keeps.

One collector may go through many captures: a trainer's callback opens one a step. It never fails: what it cannot
measure is left out, and where it raises it stops, with a note.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from torch import Tensor, is_grad_enabled

from autograd_inspector.capture.torch_private.modes import is_tracing
from autograd_inspector.capture.vitals.activations import Activations, Key
from autograd_inspector.capture.vitals.allocations import Peak
from autograd_inspector.capture.vitals.functions import MODULES
from autograd_inspector.capture.vitals.kept_steps import KeptSteps
from autograd_inspector.capture.vitals.memory import Bytes, Memory, Place
from autograd_inspector.capture.vitals.scales import Scales
from autograd_inspector.capture.vitals.transfer import Reading, brought, on_host
from autograd_inspector.capture.vitals.weights import Moving, Weights
from autograd_inspector.interrupts import is_interrupt
from autograd_inspector.messages import text_of
from autograd_inspector.model.op import ModuleCall

KEPT = 128
"""Steps, of a model of no more than some hundred parameters."""
_CELLS = 262_144
"""Of a larger one fewer, so that there are no more numbers than these."""
_LEAST = 16
_MOST = 4_096
"""So many functions are measured in a step: a loop over time calls thousands."""
_WAITING = 32
"""So many steps stay on a device before their numbers are brought over."""


class Capturing(NamedTuple):
    """What a capture tells: what it calls a tensor, and the model of a number; the op that runs, and what it was."""

    name_of: Callable[[int], str]
    label_of: Callable[[int], str]
    running: Callable[[], int]
    place_of: Callable[[Peak], Place]
    note: Callable[[str], None]


class Vitals:
    """The statistics of a run; every method may be called at any time."""

    def __init__(self) -> None:
        self.note: Callable[[str], None] = lambda _: None
        self._label_of: Callable[[int], str] = lambda _: ""
        self.kept = KeptSteps(KEPT)
        self.weights = Weights()
        self.activations = Activations()
        self.memory = Memory()
        self.scales = Scales()
        self.before = 0
        """Steps of the run before the present capture began."""
        self.one_step = False
        """Each capture is one step, whatever the optimizers do in it."""
        self.saved: dict[int, int] = {}
        """Step that is kept -> the bytes that its graphs saved for backward."""
        self.failed = False
        self._present = 0
        """The training step that the last optimizer's step belongs to; 0: none has stepped."""
        self._open: list[Reading] = []
        """What was measured since an optimizer stepped last."""
        self._of_present: list[Reading] = []
        self._waiting: list[tuple[int, list[Reading]]] = []
        """Steps that are over, and whose numbers are still on their devices."""
        self._met: set[Key] = set()
        """Those that it is of."""
        self._calls: dict[tuple[str, str], int] = {}
        """(model, path) of a module -> its first call since then."""
        self._functions: dict[tuple[int, str], int] = {}
        self._moving: list[Moving] = []

    # --- told by the observers ---------------------------------------------------------------------------------

    def begin(self, capture: Capturing) -> None:
        """A capture begins."""
        self.weights.name_of, self.note, self._label_of = capture.name_of, capture.note, capture.label_of
        self.weights.settle({})
        self.activations.settle()
        self.memory.begin(capture.running, capture.place_of)

    def met(self, address: int, storage: Any) -> None:
        """Memory that was not met before, at that address of its StorageImpl."""
        self._safely(self.memory.allocations.met, address, storage)

    def passed(self, op: int, tensors: Sequence[Any]) -> None:
        """The backward of an op has been given, and has passed on, those."""
        self._safely(self.memory.allocations.passed, op, tensors)

    def returned(self, call: ModuleCall, result: Any) -> None:
        """A module that called no other has returned."""
        tensor = _first_tensor(result)
        if tensor is not None and is_grad_enabled():
            self._safely(self._returned, call, tensor)

    def activated(self, name: str, results: Iterable[Tensor], call: ModuleCall | None, site: int) -> None:
        """An activation function has returned, in the call of a module if in any, at that line."""
        if is_grad_enabled():
            for result in results:
                self._safely(self._activated, name.removesuffix("_"), result, call, site)

    def step_begins(self, parameters: Sequence[tuple[int, Tensor]]) -> None:
        """An optimizer begins to step these (tensor, parameter) that have a gradient."""
        self._moving = []
        self._safely(self._meet_gradients, parameters)

    def closure_ended(self, parameters: Sequence[tuple[int, Tensor]]) -> None:
        """The step goes on with the gradients that its closure has computed."""
        self._safely(self._meet_gradients, parameters)

    def step_ends(self) -> None:
        """The optimizer has stepped."""
        self._safely(lambda: self._open.extend(self.weights.moved(self._moving)))
        self._moving = []

    def belongs(self, step: int, held: Callable[[], Bytes]) -> None:
        """The optimizer's step was part of that training step of the capture, counted from 1."""
        self._safely(self._belongs, self.before + (1 if self.one_step else step), held)

    def settle(self, tensors: Mapping[int, int]) -> None:
        """The capture's tensors have other numbers now."""
        self.weights.settle(tensors)

    def scaled(self, scale: Tensor) -> None:
        """A GradScaler has updated its scale."""
        self._safely(self.scales.updated, scale)

    def finish(self, parameters: Iterable[tuple[int, Tensor]], *, ran: bool, saved: Iterable[int]) -> None:
        """The capture is over. ``ran``: a backward ran since the last optimizer's step; ``saved``: bytes by step."""
        self._safely(self._finish, parameters, ran, saved)

    # --- inside --------------------------------------------------------------------------------------------------

    def _returned(self, call: ModuleCall, result: Tensor) -> None:
        key = (self._label_of(call.root), call.path, "", 0)
        if key not in self._met:
            self._met.add(key)
            self._open += self.activations.measured(key, call.type, result)

    def _activated(self, function: str, result: Tensor, call: ModuleCall | None, site: int) -> None:
        """Of several calls of a module since the last step the first counts."""
        place = ("", "") if call is None else (self._label_of(call.root), call.path)
        number, type_ = (-1, "") if call is None else (call.id, call.type)
        if self._calls.setdefault(place, number) != number:
            return
        nth = self._functions.get((number, function), 0)
        self._functions[number, function] = nth + 1
        key = (*place, "" if type_ in MODULES else function, nth)
        if key not in self._met and len(self._met) < _MOST:
            self._met.add(key)
            self._open += self.activations.measured(key, type_, result, function=function, site=site)

    def _meet_gradients(self, parameters: Sequence[tuple[int, Tensor]]) -> None:
        self._open += self.weights.gradients(parameters)
        if not self._moving:  # A closure may be called again when the step has moved them.
            self._moving = self.weights.moving(parameter for _, parameter in parameters)

    def _belongs(self, step: int, held: Callable[[], Bytes] | None) -> None:
        if step != self._present:
            self._close()
            self._present = step
            self.memory.open()
        self._of_present += self._open
        self.weights.stepped()
        if held is not None:
            self.memory.stepped(held())
        self.memory.reached()
        self._begin_anew()

    def _begin_anew(self) -> None:
        self._open = []
        self._met.clear()
        self._calls.clear()
        self._functions.clear()

    def _close(self) -> None:
        """The present step is over."""
        if not self._present:
            return
        self._waiting.append((self._present, self._of_present))
        self.memory.close()
        self._of_present = []
        if len(self._waiting) >= _WAITING or on_host(self._of_all()):
            self._bring()
        self._fit()

    def _of_all(self) -> list[Reading]:
        return [reading for _, readings in self._waiting for reading in readings]

    def _bring(self) -> None:
        waiting, self._waiting = self._waiting, []
        for step, readings in waiting:
            brought(readings)
            self.weights.end_step(step)
            self.activations.end_step(step)
            self._dropped(self.kept.add(step))

    def _fit(self) -> None:
        """Keep no more numbers than there is room for."""
        cells = self.weights.table.rows * self.weights.table.width
        cells += self.activations.table.rows * self.activations.table.width
        self.kept.capacity = max(_LEAST, min(KEPT, _CELLS // max(cells, 1)))
        while len(self.kept.numbers) > self.kept.capacity:
            self._dropped(self.kept.drop())

    def _dropped(self, place: int) -> None:
        if place >= 0:
            for part in (self.weights.table, self.activations.table, self.memory):
                part.drop(place)

    def _finish(self, parameters: Iterable[tuple[int, Tensor]], ran: bool, saved: Iterable[int]) -> None:  # noqa: FBT001
        if ran:
            self._open += self.weights.gradients(parameters)
            self._belongs(self._present + 1 if self._present > self.before else self.before + 1, None)
        self._close()
        self._bring()
        self.scales.bring()
        kept = set(self.kept.numbers)
        self.saved |= {step: bytes_ for step, bytes_ in enumerate(saved, self.before + 1) if step in kept}
        self.saved = {step: bytes_ for step, bytes_ in self.saved.items() if step in kept}
        self._present = 0
        self._begin_anew()
        self._moving = []

    def _safely(self, measure: Callable[..., object], *args: Any) -> None:
        if self.failed or is_tracing():
            return
        try:
            measure(*args)
        except Exception as failure:
            if is_interrupt(failure):
                raise
            self.failed = True
            self.note(f"vitals are missing from this point on: {text_of(failure)}")
        except BaseException:
            self.failed = True
            raise


def _first_tensor(result: Any) -> Tensor | None:
    first = result[0] if (type(result) is tuple or type(result) is list) and result else result
    return first if issubclass(type(first), Tensor) else None
