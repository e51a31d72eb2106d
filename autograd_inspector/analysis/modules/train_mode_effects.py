"""What train mode changes in modules that nothing trains: values dropped at random, running statistics that go on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.places import LastPlaces, Place
from autograd_inspector.analysis.modules.training_modes import within
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.parameters.unoptimized import path_in_model
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.event import RequiresGradChanged
from autograd_inspector.model.op import ModuleCall, Op, Trait
from autograd_inspector.model.program_events import ModeSwitched

_Shaped = tuple[str, tuple[int, ...]]
"""(path in a part, shape)."""


class InTrainMode(Struct, frozen=True):
    """A part of a model that nothing trains, called in train mode: ``call``.

    ``dropping`` and ``counting`` are the calls in it that drop values at random and update running statistics.
    ``switch``: the program had put it into eval mode, and ``undone`` put it back with the model around it. None: it was
    never put into either mode, and what it returns goes into a loss beside what learns. ``frozen``: it was trained until
    then, so that train mode was right; this made it require no grad. ``handed_on``: what it returns goes into what
    learns, and the program froze it: as a rule its statistics were to stay, but they may follow the new data on purpose.
    """

    call: ModuleCall
    op: Op
    dropping: tuple[ModuleCall, ...]
    counting: tuple[ModuleCall, ...]
    switch: ModeSwitched | None = None
    undone: ModeSwitched | None = None
    frozen: RequiresGradChanged | None = None
    handed_on: bool = False


def untrained_in_train_mode(analysis: Analysis) -> Iterator[InTrainMode]:
    """Each part once."""
    parts = Parts(analysis)
    for place, ops in parts.affected().items():
        call = parts.call_at(ops[0], place[1])
        pair = parts.undone_eval(place, call)
        handed_on = pair is None and not parts.is_target(place, call, ops)
        calls = [analysis.capture.calls[op.call] for op in ops]
        counting = each_once(c for c, op in zip(calls, ops, strict=True) if is_a(op.name, OpKind.KEEPS_STATISTICS))
        if handed_on and not (counting and parts.was_frozen(place)):
            continue
        switch, undone = pair or (None, parts.put_into_training(place, call) if handed_on else None)
        yield InTrainMode(
            call,
            ops[0],
            each_once(c for c, op in zip(calls, ops, strict=True) if op.has(Trait.DRAWS) and not handed_on),
            counting,
            switch,
            undone,
            parts.frozen(place),
            handed_on,
        )


def differs(capture: Capture, op: Op) -> bool:
    """Whether an op in a module's call does what it would not do in eval mode."""
    if is_a(op.name, OpKind.KEEPS_STATISTICS):
        return any(capture.tensors[write.tensor].kind == "buffer" for write in op.writes)
    return op.has(Trait.DRAWS) and capture.calls[op.call].training


def each_once(calls: Iterable[ModuleCall]) -> tuple[ModuleCall, ...]:
    """The first call of each module."""
    return tuple({call.path: call for call in reversed(list(calls))}.values())[::-1]


class Parts:
    """The largest parts of models without a parameter that learns."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._capture = analysis.capture

    def affected(self) -> dict[Place, list[Op]]:
        """Part -> the ops in its calls that train mode makes different from what they are in eval mode."""
        affected: dict[Place, list[Op]] = {}
        if not self._capture.steps:
            return affected
        for op in self._capture.ops:
            if op.call >= 0 and differs(self._capture, op):
                place = self._part(op)
                if place is not None and op.index >= self._since.get(place, 0):
                    affected.setdefault(place, []).append(op)
        return affected

    def _part(self, op: Op) -> Place | None:
        """The outermost module around an op in which nothing learns, None where the innermost learns or has nothing."""
        part, call = None, self._capture.calls[op.call]
        while True:
            place = call.root, call.path
            if place in self._learning:
                return part
            if place in self._having and call.training:
                part = place
            if call.parent < 0 or self._capture.calls[call.parent].root != call.root:
                return part
            call = self._capture.calls[call.parent]

    @cached_property
    def _learning(self) -> frozenset[Place]:
        """Models and parts with a parameter that learns, or that the program writes to."""
        return self._with(tensor for tensor in self._capture.owners if self._learns(tensor))

    @cached_property
    def _since(self) -> dict[Place, int]:
        """Model or part -> the moment since when nothing in it has learned, where something did before."""
        since: dict[Place, int] = {}
        for tensor in sorted(self._retired.keys() & self._capture.owners.keys(), key=self._retired.__getitem__):
            since |= dict.fromkeys(self._with([tensor]), self._retired[tensor])
        return since

    @cached_property
    def _retired(self) -> dict[int, int]:
        return self._analysis.lifecycle.retired(self._ever_trained)

    def frozen(self, place: Place) -> RequiresGradChanged | None:
        """What ended its training."""
        mine = [t for t in self._retired if self._inside(t, self._capture.owners.get(t, -1), place)]
        return next(iter(self._analysis.lifecycle.frozen(mine)), None)

    def was_frozen(self, place: Place) -> bool:
        """Whether the program froze all its parameters, before any training, and called it within another module."""
        mine = [t for t, root in self._capture.owners.items() if self._inside(t, root, place)]
        first = min((step.start for step in self._capture.steps), default=-1)
        early = {change.tensor for change in self._analysis.lifecycle.frozen(mine, until=first)}
        return bool(place[1]) and bool(mine) and early.issuperset(mine)

    @cached_property
    def _having(self) -> frozenset[Place]:
        """Models and parts with a parameter."""
        return self._with(self._capture.owners)

    def _with(self, tensors: Iterable[int]) -> frozenset[Place]:
        places: set[Place] = set()
        for tensor in tensors:
            root, path = self._capture.owners[tensor], path_in_model(self._capture, tensor)
            while path:
                path = path.rpartition(".")[0]
                places.add((root, path))
        return frozenset(places)

    def _learns(self, tensor: int) -> bool:
        return tensor in self._trained or self._written(tensor)

    @cached_property
    def _trained(self) -> frozenset[int]:
        return self._ever_trained - self._retired.keys()

    @cached_property
    def _ever_trained(self) -> frozenset[int]:
        return self._analysis.received_gradient | self._analysis.optimized_trainable

    def _written(self, tensor: int) -> bool:
        """Whether something writes to it once the training has begun: a moving average, a load."""
        begun = min((run.end for run in self._capture.backwards), default=0)
        first = max(begun, self._retired.get(tensor, 0))
        storage = self._capture.tensors[tensor].storage
        return any(True for _ in self._analysis.writes_to(storage, tensor, first, len(self._capture.ops)))

    def call_at(self, op: Op, path: str) -> ModuleCall:
        """The call of the part that an op ran in."""
        call = self._capture.calls[op.call]
        while call.path != path:
            call = self._capture.calls[call.parent]
        return call

    # --- what was meant ---

    @cached_property
    def _switches(self) -> tuple[ModeSwitched, ...]:
        return tuple(map(self._places.switched, self._capture.events_of(ModeSwitched)))

    @cached_property
    def _places(self) -> LastPlaces:
        return LastPlaces(self._capture)

    def undone_eval(self, place: Place, call: ModuleCall) -> tuple[ModeSwitched, ModeSwitched] | None:
        """(eval of the part or of one around its layers, train of what is around it), with no call in between."""
        root, path = self._places.of(*place)
        mine = [s for s in self._switches if s.model == root and s.at <= call.at]
        outer = next((s for s in reversed(mine) if within(path, s.path)), None)
        if outer is None or not outer.training or outer.path == path:
            return None
        before = mine[: mine.index(outer)]
        last = next((s for s in reversed(before) if within(path, s.path) and within(s.path, outer.path)), None)
        if last is None or last.training or last.path == outer.path:
            return None
        between = (self._places.of(c.root, c.path) for c in self._capture.calls if last.at <= c.at < outer.at)
        looked = any(model == root and within(inner, path) for model, inner in between)
        return None if looked else (last, outer)

    def put_into_training(self, place: Place, call: ModuleCall) -> ModeSwitched | None:
        """What put it, or what is around it, into train mode before it was called; None: it began in it."""
        root, path = self._places.of(*place)
        mine = (s for s in reversed(self._switches) if s.model == root and s.at <= call.at and within(path, s.path))
        last = next(mine, None)
        return last if last is not None and last.training else None

    def singled_out(self, place: Place, switch: ModeSwitched) -> bool:
        """Whether the program put just that module into eval mode, out of train mode, and no library did."""
        root, path = self._places.of(*place)
        around = [s for s in self._switches if s.model == root and within(path, s.path)]
        before = around[: around.index(switch)]
        frames = self._capture.site(switch.site)
        own = bool(frames) and not frames[0].library
        return switch.path == path and own and (not before or before[-1].training)

    def is_target(self, place: Place, call: ModuleCall, ops: list[Op]) -> bool:
        """Whether it was never put into either mode by name, and what comes out of it goes into a loss as a constant.

        The program itself calls it, and not a module that hands the result to what learns. A copy of what learns may
        follow that one, in a step that was not seen.
        """
        last = self._places.of(*place)
        if call.parent >= 0 or any((s.model, s.path) == last for s in self._switches) or self._is_copy(place):
            return False
        return any(op.last_seq <= op.first_seq and not self._constants.isdisjoint(op.outputs) for op in ops)

    def _is_copy(self, place: Place) -> bool:
        mine = {self._shaped(t, place[1]) for t, root in self._capture.owners.items() if self._inside(t, root, place)}
        return any(mine <= shapes for shapes in self._trained_shapes.values())

    def _inside(self, tensor: int, root: int, place: Place) -> bool:
        return root == place[0] and within(path_in_model(self._capture, tensor), place[1])

    def _shaped(self, tensor: int, part: str) -> _Shaped:
        path = path_in_model(self._capture, tensor)
        return path.removeprefix(f"{part}.") if part else path, self._capture.tensors[tensor].shape

    @cached_property
    def _trained_shapes(self) -> dict[Place, set[_Shaped]]:
        """Model, and part that its root has as an attribute -> the parameters of it that learn."""
        shapes: dict[Place, set[_Shaped]] = {}
        for tensor in self._trained & self._capture.owners.keys():
            root = self._capture.owners[tensor]
            part, _, inner = path_in_model(self._capture, tensor).partition(".")
            shapes.setdefault((root, ""), set()).add(self._shaped(tensor, ""))
            if inner:
                shapes.setdefault((root, part), set()).add(self._shaped(tensor, part))
        return shapes

    @cached_property
    def _constants(self) -> frozenset[int]:
        """What the losses of the last step are computed from without an op that reads a parameter that learns."""
        capture, trained = self._capture, self._trained
        last = capture.steps[-1]
        since = max((step.at for step in capture.steps if step.at < last.start), default=-1)
        runs = [run for run in capture.completed_runs if run.start > since]

        def through(op: Op, _tensor: int) -> bool:
            return op.index > since and trained.isdisjoint(op.inputs)

        starts = [(root, run.start) for run in runs for root in run.roots]
        upstream = self._analysis.flow.upstream(starts, through)
        return frozenset(tensor for op, of in upstream if through(op, of) for tensor in op.inputs)
