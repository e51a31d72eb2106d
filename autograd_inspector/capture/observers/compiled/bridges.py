"""What Python does between the graphs of one compiled call, where Dynamo could not follow the code.

It runs without the recorder, for Dynamo would compile that into what comes next. What is known of it is what broke the
graph, which Dynamo tells, and which tensors the next graph is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from types import FrameType
from typing import Any

from torch import Tensor

from autograd_inspector.capture.compiled.module_sources import Scope, value_of
from autograd_inspector.capture.compiled.plan import OUTPUT, PLACEHOLDER, Plan, Ref
from autograd_inspector.capture.lines.frame_locals import locals_of
from autograd_inspector.capture.lines.sources import RESUMED
from autograd_inspector.capture.observers.calls.arguments import gather
from autograd_inspector.capture.observers.compiled.outside import number_behind
from autograd_inspector.capture.recording.exports import rejoin
from autograd_inspector.capture.recording.raw_records import OP_NAME, OP_OUTPUTS
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import is_leaf, needs_grad, node_of
from autograd_inspector.capture.torch_private.graph import sequence_number
from autograd_inspector.capture.torch_private.modes import DisableTorchFunction
from autograd_inspector.model.op import Trait

_METHOD = re.compile(r"Tensor\.(?P<name>item|tolist|numpy)\(\)|`(?P<quoted>tolist|item|numpy)\(\)`")
_CREATION = "tensor creation function"
"""In the reason of a break: the code is about to call ``torch.tensor(..., requires_grad=True)`` or its like."""
BETWEEN = "code between compiled graphs"
_KEPT = "___stack"
_LOCAL = re.compile(rf"L\['[^']+'\]|L\['{_KEPT}\d*'\](\[\d+\])+")
Made = tuple[int, int]
"""A node of autograd, by its number, which is no other's in this thread, and which of its results."""
_FARTHEST = 400
"""Nodes of autograd that are looked at between two graphs."""


class Bridges:
    """Of the compiled calls that run, what the last graph left, and what took its results out of torch."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._left: tuple[int, ...] = ()
        self._met: dict[Made, int] = {}
        """What made the tensors that graphs of these calls were given or returned -> these."""
        self.since = 0
        """The number that autograd gave to the next node when the last graph had run."""
        self.place = -1
        """What broke that graph."""
        self._export = -1
        self._rewrapped: dict[int, float] = {}
        """Single values that that graph returned with their history, where the code is about to create a tensor."""
        self._numbers: dict[float, int] = {}
        """The values of what that graph returned, where it is one number each -> the tensor."""
        self._came: dict[float, int] = {}
        """Numbers that the code has from torch since these calls began -> the op by which."""

    def over(self) -> None:
        """No compiled call runs any more."""
        self._left, self._export, self._rewrapped = (), -1, {}
        self._met.clear()
        self._numbers.clear()
        self._came.clear()

    def given(self, arguments: Any) -> None:
        """A compiled call begins with these."""
        tensors: list[Tensor] = []
        gather(arguments, tensors)
        self._meet(tensors)
        self.since, self.place = sequence_number(), -1

    def left(self, plan: Plan, results: Any, frame: FrameType, outer: int) -> None:
        """A graph has returned, and the code goes on in Python."""
        recording = self._recording
        reason, frames = plan.breaks
        tensors: list[Tensor] = []
        gather((results,), tensors)
        self._left, self._export = tuple([recording.id_of(each) for each in tensors]), -1
        self._numbers.clear()
        connected = [each for each in tensors if _CREATION in reason and needs_grad(each)]
        self._rewrapped = {recording.id_of(each): number for each in connected for number in _number_in(each)}
        self._meet(tensors)
        self.since = sequence_number()
        self.place = recording.stacks.of_frames(frames, outer) if frames else -1
        if not reason:
            return
        name = _exporting(plan)
        taken = _taken(plan, results, frame) if name else None
        if taken is not None:
            site = self.place if frames else outer
            self._export = recording.append(name, (recording.id_of(taken),), traits=int(Trait.EXPORT), site=site)
            self._numbers.update((number, recording.id_of(each)) for each in tensors for number in _number_in(each))

    def arrive(self, plan: Plan, args: Sequence[Any], frame: FrameType, outer: int) -> None:
        """A graph is about to run: what it is given and nothing has made comes from the Python before it."""
        recording = self._recording
        if not plan.code.co_name.startswith(RESUMED) or not self._left:
            tensors = [each for each in args if isinstance(each, Tensor)]
            for each in tensors:
                if recording.registry.entry_of(each) is None and self._is_new(each):
                    self.between(each, (), outer)
            self._meet(tensors)
            return
        scope = Scope.of(frame)
        for step, each in zip((step for step in plan.steps if step.kind == PLACEHOLDER), args, strict=False):
            if not isinstance(each, Tensor) or recording.registry.entry_of(each) is not None:
                continue
            if needs_grad(each) and not is_leaf(each):
                self.between(each, self._left, outer)
            elif self._rewrapped and needs_grad(each):
                self.created(each, outer)
            elif number_behind(step, scope) is not None:
                continue
            elif self._export >= 0 and not needs_grad(each) and _LOCAL.fullmatch(step.source):
                self._made("from_numpy", (), each, outer)
                recording.scalar_reentries.append((len(recording.ops) - 1, self._export))

    def _is_new(self, tensor: Tensor) -> bool:
        """Whether it was computed since these calls began: Dynamo gave a function up, and compiled what that calls."""
        node = node_of(tensor) if needs_grad(tensor) and not is_leaf(tensor) else None
        return node is not None and node._sequence_nr() >= self.since

    def created(self, leaf: Tensor, site: int) -> None:
        """A leaf that Python made after a break: of those results of the graph before it whose values it has."""
        values = _values_in(leaf) if self._rewrapped else ()
        sources = tuple([number for number, value in self._rewrapped.items() if value in values])
        if sources:
            self._made("tensor", (), leaf, self.place if self.place >= 0 else site)
            rejoin(self._recording, len(self._recording.ops) - 1, sources)
            self._rewrapped = {}

    def between(self, result: Tensor, otherwise: tuple[int, ...], site: int) -> None:
        """A tensor that Python made between the graphs: its autograd graph says of what."""
        inputs, nodes = _origins(result, self._met, self._recording)
        nodes = {number for number in nodes if number >= self.since}
        first = min(nodes, default=-1)
        site = self.place if self.place >= 0 else site
        self._made(BETWEEN, inputs or otherwise, result, site, (first, max(nodes, default=-2) + 1))
        self.since = max(self.since, *nodes, -1) + bool(nodes)
        self._meet([result])

    def _meet(self, tensors: Iterable[Tensor]) -> None:
        for each in tensors:
            node = node_of(each) if needs_grad(each) and not is_leaf(each) else None
            if node is not None:
                self._met[node._sequence_nr(), each.output_nr] = self._recording.id_of(each)

    def numbers(self, frame: FrameType) -> dict[float, int]:
        """The numbers that the code after a break goes on with, where a value left torch -> the op by which."""
        if not frame.f_code.co_name.startswith(RESUMED):
            return {}
        if self._export >= 0:
            self._come_by(list(_floats([value for name, value in locals_of(frame) if name.startswith(_KEPT)])))
        return dict(self._came)

    def _come_by(self, held: list[float]) -> None:
        """The code has these since the last break."""
        taken = tuple(dict.fromkeys(self._numbers[value] for value in held if value in self._numbers))
        op = self._recording.ops.get(self._export)
        if taken and op is not None:  # The numbers themselves tell which of the results they were.
            self._recording.ops[self._export] = (op[OP_NAME], taken, (-1,) * len(taken), *op[OP_OUTPUTS:])
        self._came.update(dict.fromkeys((value for value in held if value not in {0.0, 1.0}), self._export))

    def _made(
        self, name: str, inputs: tuple[int, ...], result: Tensor, site: int, nodes: tuple[int, int] = (-1, -1)
    ) -> None:
        index = len(self._recording.ops)
        number = self._recording.registry.enter(result, index, index).tensor
        self._recording.append(name, inputs, (number,), site=site, sequence=nodes)


def _origins(result: Any, known: dict[Made, int], recording: Recording) -> tuple[tuple[int, ...], set[int]]:
    """(the known tensors that a result was computed from, the numbers of autograd's nodes between these and it)."""
    inputs: dict[int, None] = {}
    nodes: set[int] = set()
    todo, seen = [(node_of(result), result.output_nr)], set[Any]()
    while todo and len(seen) < _FARTHEST:
        edge = todo.pop()
        node = edge[0]
        if node is None or edge in seen:
            continue
        seen.add(edge)
        leaf, made = getattr(node, "variable", None), (node._sequence_nr(), edge[1])
        if made in known:
            inputs[known[made]] = None
        elif isinstance(leaf, Tensor):
            inputs[recording.id_of(leaf)] = None
        else:
            nodes.add(made[0])
            todo += node.next_functions
    return tuple(inputs), nodes


def _floats(values: list[Any]) -> Iterator[float]:
    """Those among some values, and in the lists that ``.tolist()`` makes."""
    for value in values:
        if type(value) is float:
            yield value
        elif type(value) is list:
            yield from _floats(value)


def _number_in(result: Tensor) -> Iterator[float]:
    """The value of a result that is one: the code is about to read one of them, and waits for its device then."""
    if type(result) is Tensor and result.is_floating_point():
        with DisableTorchFunction():
            if result.numel() == 1 and not result.is_meta:
                yield result.detach().item()


def _values_in(leaf: Tensor) -> set[float]:
    """The values of a small tensor, but for those that many others equal by chance."""
    with DisableTorchFunction():
        if leaf.is_meta or not leaf.is_floating_point() or leaf.numel() > _FARTHEST:
            return set()
        return set(leaf.detach().flatten().tolist()) - {0.0, 1.0}


def _exporting(plan: Plan) -> str:
    """The method by which a value leaves torch after a graph, "" where none does."""
    if plan.taken is not None and plan.taken.method:
        return plan.taken.method
    found = _METHOD.search(plan.breaks[0])
    return "" if found is None else found["name"] or found["quoted"]


def _taken(plan: Plan, results: Any, frame: FrameType) -> Tensor | None:
    """What Dynamo held as the graph broke; of the results the one that was computed last, where that is not known."""
    returned = plan.steps[-1].args[0] if plan.steps and plan.steps[-1].kind == OUTPUT else ()
    made = {
        each.step: result
        for each, result in zip(returned, results, strict=False)
        if isinstance(each, Ref) and isinstance(result, Tensor)
    }
    taken = plan.taken
    if taken is not None and taken.source:
        value = value_of(taken.source, Scope.of(frame))
        if isinstance(value, Tensor):
            return value
    if taken is not None and taken.step in made:
        return made[taken.step]
    return made[max(made)] if made else None
