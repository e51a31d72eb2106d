"""Runs of the autograd engine: what they started from, the graph at that moment, what they left."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import takewhile
from math import prod
from typing import Any

from msgspec.structs import replace
from torch import Tensor

from autograd_inspector.capture.graph_walk.unwalked import Repeats, as_it_began, tell_by_ops
from autograd_inspector.capture.graph_walk.walk import Walk
from autograd_inspector.capture.lines.local_names import held_modules, user_frames
from autograd_inspector.capture.module_tree import parameters_of
from autograd_inspector.capture.observers.backward.arguments import (
    ends_of,
    inputs_of,
    node_behind,
    options_of,
    seeds_of,
)
from autograd_inspector.capture.observers.backward.arrivals import Arrivals
from autograd_inspector.capture.observers.backward.failed import marked, merged, name_involved, note_unpacking
from autograd_inspector.capture.observers.backward.failing_node import Failure, failing_node
from autograd_inspector.capture.observers.backward.node_hooks import NodeHooks
from autograd_inspector.capture.observers.backward.refused_hooks import note_refused
from autograd_inspector.capture.observers.calls.hooks import older_hooks
from autograd_inspector.capture.observers.calls.ops import Recorder
from autograd_inspector.capture.observers.distributed.reductions import Reductions
from autograd_inspector.capture.observers.measuring import watch_memory
from autograd_inspector.capture.recording.held_tensors import note_held
from autograd_inspector.capture.recording.raw_records import OP_INPUTS, OP_OUTPUTS
from autograd_inspector.capture.recording.recorded_nodes import Walked
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import (
    gradient_of,
    is_leaf,
    needs_grad,
    retains_grad,
    shape_of,
)
from autograd_inspector.capture.torch_private.compiled import compiles_backward, is_compiling
from autograd_inspector.capture.torch_private.graph import ENGINE, sequence_number
from autograd_inspector.capture.torch_private.modes import is_on
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.mode_stack import put_back, put_on, take_off
from autograd_inspector.capture.undisturbed.patches import around
from autograd_inspector.capture.undisturbed.recursion import FOR_ENGINE, RecursionLimit
from autograd_inspector.messages import text_of
from autograd_inspector.model.autograd import Backward, GraphHead
from autograd_inspector.model.graphs import graph_below
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import DifferentiatedWithin
from autograd_inspector.model.torch_errors import TorchError, says

BACKWARD = int(Trait.BACKWARD)
_CARRIED = (TorchError.GRAPH_FREED, TorchError.MODIFIED_IN_PLACE)
"""What a graph from an earlier round may have led to."""


class _Run:
    """A run that has begun: what it was given, and what is to be restored at its end."""

    def __init__(self, engine: Engine, outputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.outputs = outputs
        self.args = args
        self.kwargs = kwargs
        self.traits = engine.recording.traits
        self.depth = len(engine.recording.running)
        self.place = engine.recorder.regions.place()
        self.limit = engine.limit.ours
        self.was_on = is_on(engine.recorder)
        self.first = sequence_number()
        self.number: int | None = None
        self.open = True

    @property
    def create_graph(self) -> bool:
        """Whether the run builds a graph itself."""
        return bool(self.kwargs.get("create_graph", self.args[2:3] == (True,)))


class Engine:
    """Observes every engine run through the one function that all of torch's Python entries call."""

    def __init__(
        self, recording: Recording, recorder: Recorder, guard: Guard, limit: RecursionLimit, reductions: Reductions
    ) -> None:
        self.recording = recording
        self._reductions = reductions
        self.recorder = recorder
        self.limit = limit
        self._guard = guard
        self._hooks: dict[int, NodeHooks] = {}
        self._arrivals: dict[int, Arrivals] = {}
        self._repeats = Repeats(recording)

    def install(self, into: Installation) -> None:
        """A probe in the engine's entry."""
        owner = ENGINE.owner()
        if owner is not None:
            around(into, owner, ENGINE.name, self)

    def before(self, seen: list[_Run], outputs: Any, /, *args: Any, **kwargs: Any) -> None:
        """A run begins. The recorder goes into it, so that hooks and recomputation are seen."""
        recording = self.recording
        if recording.elsewhere or not recording.here():
            return
        if not recording.active():
            if recording.pauses:
                self._guard.run(self._aside)
            return
        if recording.inside_opaque and is_compiling():
            return  # What a backend differentiates is not the program's.
        run = _Run(self, outputs, args, kwargs)
        seen += (run,)
        run.number = self._guard.run(self._begin, outputs, args, kwargs)
        recording.traits = run.traits | BACKWARD
        self.limit.put(run.limit + FOR_ENGINE)
        if not (compiles_backward() or recording.inside_opaque):  # Dynamo would trace the recorder.
            put_on(self.recorder)
        if run.create_graph != run.place[1][0]:
            self._guard.run(self.recorder.regions.sync, run.create_graph, run.place[1][1])

    def after(self, seen: list[_Run], result: Any, /) -> Any:
        """The run returned."""
        for run in seen:
            self._left(run)
            if run.number is not None and result:
                self._guard.run(self._returned, run.number, result, run.first)
        return result

    def failed(self, seen: list[_Run], error: BaseException, /) -> None:
        """The run raised."""
        for run in seen:
            put_back(error)
            self._back(run)
            if run.number is not None and run.open:
                self._guard.run(self._failed, run.number, run.outputs, inputs_of(run.args, run.kwargs), error)
            self._left(run)

    def _left(self, run: _Run) -> None:
        self._back(run)
        if run.number is not None and run.open:
            self._guard.run(self._end, run.number, run.args, run.kwargs)
            if run.create_graph and run.kwargs.get("accumulate_grad") and sequence_number() == run.first:
                self._guard.run(self._kept_graph, run.number)
        run.open = False

    def _back(self, run: _Run) -> None:
        """All is as it was before the run, whether or not that was done."""
        self.recording.traits = run.traits
        del self.recording.running[run.depth :]
        if not run.was_on:
            take_off(self.recorder)
        self.limit.put(run.limit)
        self._unhook()
        self._guard.run(self.recorder.regions.back_to, run.place)

    def _aside(self) -> None:
        """A run in a call in which nothing is recorded: that there was one, for each such call once."""
        recording = self.recording
        event = DifferentiatedWithin(len(recording.ops), recording.stacks.here(0))
        if event not in recording.events[-1:]:
            recording.events.append(event)

    def _unhook(self) -> None:
        """No hook of ours stays on a node of a run that is over."""
        for number in [number for number in self._hooks if number not in self.recording.running]:
            self._hooks[number].remove()
            del self._hooks[number]

    def _begin(self, outputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
        recording = self.recording
        if recording.at_rest is not None:
            recording.at_rest()
        options = options_of(args, kwargs)
        repeated = self._repeated(outputs, options, kwargs)
        if repeated is not None:
            return self._begin_unwalked(outputs, *repeated)
        inputs = inputs_of(args, kwargs)
        walk = Walk(recording)
        head = walk.record(ends_of(outputs))
        accumulate = bool(kwargs.get("accumulate_grad"))
        wanted = [recording.id_of(t) for t in inputs]
        if accumulate or not wanted:
            walk.leaves |= recording.registry.alive(
                sorted(recording.recorded.leaves.of(walk.stopped) - walk.leaves.keys())
            )
        direct = [recording.id_of(t) for t in outputs if isinstance(t, Tensor) and is_leaf(t) and needs_grad(t)]
        older_hooks(recording, walk.leaves.items())
        recording.name_variables([leaf for t, leaf in walk.leaves.items() if t not in recording.named])
        number = len(recording.backwards)
        if accumulate and not recording.running:
            recording.kept.look(recording, walk.leaves)
        recording.backwards.append(
            Backward(
                number,
                "backward" if accumulate else "grad",
                len(recording.ops),
                len(recording.ops),
                recording.stacks.here(0),
                tuple(recording.id_of(t) for t in outputs if isinstance(t, Tensor)),
                head,
                tuple(wanted or [*walk.leaves, *direct]),
                stale=tuple(t for t, leaf in walk.leaves.items() if accumulate and gradient_of(leaf) is not None),
                nested_in=recording.running[-1] if recording.running else -1,
                retain_graph=bool(options.get("retain_graph")),
                create_graph=bool(options.get("create_graph")),
                weights=tuple(self._weights(outputs, args[0] if args else ())),
            )
        )
        recording.running.append(number)
        if accumulate:
            self._reductions.began(number, walk.leaves)
        if head.truncated and accumulate and not wanted:
            self._arrivals[number] = Arrivals(self._leaves(walk, blind=head.blind))
        if recording.values is not None or recording.vitals is not None:
            self._hooks[number] = NodeHooks(self._guard)
        if recording.vitals is not None:
            watch_memory(recording, recording.vitals, walk.live, self._hooks[number])
        if recording.values is not None:
            seeds = seeds_of(outputs, args[0] if args else (), head.roots)
            nodes = recording.recorded.nodes
            recording.values.watch(number, nodes, walk.live, seeds, self._tensors_of, self._hooks[number], walk.inside)
        return number

    def _repeated(
        self, outputs: Any, options: dict[str, Any], kwargs: dict[str, Any]
    ) -> tuple[int, dict[int, Tensor]] | None:
        """(site, the leaves) of a plain backward() that repeats an earlier one, in a capture for failures alone."""
        recording = self.recording
        if not recording.flight or recording.running or recording.values is not None or recording.vitals is not None:
            return None
        if not kwargs.get("accumulate_grad") or len(outputs) != 1 or not isinstance(outputs[0], Tensor):
            return None
        if any(options.get(name) for name in ("retain_graph", "create_graph", "inputs")):
            return None
        site = recording.stacks.here(0)
        leaves = self._repeats.leaves(site)
        return None if leaves is None else (site, leaves)

    def _begin_unwalked(self, outputs: Any, site: int, leaves: dict[int, Tensor]) -> int:
        recording = self.recording
        number, now = len(recording.backwards), len(recording.ops)
        recording.kept.look(recording, leaves)
        stale = tuple([t for t, leaf in leaves.items() if gradient_of(leaf) is not None])
        root = recording.id_of(outputs[0])
        recording.backwards.append(
            Backward(number, "backward", now, now, site, (root,), GraphHead(), tuple(leaves), stale=stale)
        )
        recording.unwalked.append(number)
        recording.running.append(number)
        self._reductions.began(number, leaves)
        return number

    def _weights(self, outputs: Any, gradients: Any) -> Iterator[int]:
        """The gradients that the program gave: torch itself makes ones, for a single number, which nothing else met."""
        given = gradients if isinstance(gradients, (list, tuple)) else ()
        for output, gradient in zip(outputs, given, strict=False):
            if isinstance(gradient, Tensor) and isinstance(output, Tensor):
                met = self.recording.registry.entry_of(gradient) is not None
                if met or prod(shape_of(output)) != 1:
                    yield self.recording.id_of(gradient)

    def _leaves(self, walk: Walk, *, blind: bool) -> list[Tensor]:
        """All that may get a gradient, as far as the capture tells and, of an older graph, the program's models."""
        recording = self.recording
        other_leaves = {*recording.registry.parameters, *recording.lineage.leaves()} - walk.leaves.keys()
        leaves_by_id = {id(leaf): leaf for leaf in walk.leaves.values()}
        leaves_by_id |= {id(leaf): leaf for _, leaf in recording.registry.alive(other_leaves)}
        for _, module in held_modules(recording.stacks.stop) if blind else ():
            leaves_by_id |= {id(leaf): leaf for leaf in parameters_of(module)}
        return list(leaves_by_id.values())

    def _tensors_of(self, op: int) -> Iterator[tuple[int, Tensor]]:
        record = self.recording.ops[op]
        return self.recording.registry.alive(dict.fromkeys((*record[OP_INPUTS], *record[OP_OUTPUTS])))

    def _failed(self, number: int, outputs: Any, inputs: list[Tensor], error: BaseException) -> None:
        """Look at the saved tensors again: recomputation inside backward may have modified them."""
        recording = self.recording
        record = recording.backwards[number]
        late = number in recording.unwalked
        tell_by_ops(recording, but=number)
        walk = Walk(recording, keep=True, late=late)
        after = walk.graph(ends_of(outputs))
        tensors = [tensor for _, tensor in recording.registry.alive({hook.tensor for hook in recording.tensor_hooks})]
        kept = record.retain_graph or record.create_graph
        if late:
            recording.unwalked.remove(number)
            record = replace(record, reached=tuple(walk.leaves))
            before = as_it_began(recording, number, after)
        else:
            before = graph_below(recording.recorded.nodes, record.graph)
        failure = Failure(error, before, after, dict(walk.live), walk.leaves, tensors, inputs, kept=kept)
        at = failing_node(failure)
        graph = marked(after if late else merged(before, after), after.nodes[at] if at >= 0 else None)
        _, head = recording.recorded.add(Walked(graph.nodes, graph.roots), apart=True)
        recording.backwards[number] = replace(record, graph=head, error=text_of(error))
        name_involved(recording, graph)
        if says(text_of(error), *_CARRIED):
            note_held(recording, list(user_frames(recording.stacks.stop)))
        note_refused(recording, failure, number, text_of(error))
        if says(text_of(error), TorchError.OTHER_DTYPES):
            note_unpacking(recording, dict(walk.live).values())

    def _end(self, number: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        recording = self.recording
        self._reductions.ended(number)
        # A hook may step, or carry the gradient off: the optimizer in backward.
        start = recording.backwards[number].start
        steps = takewhile(lambda step: step.at >= start, reversed(recording.steps))
        used = {met.tensor for step in steps for met in step.parameters if met.gradient >= 0}
        used.update(w.tensor for w in takewhile(lambda write: write.at >= start, reversed(recording.grad_writes)))
        record = self._with_arrivals(number, used)
        empty = []
        if record.api == "backward" and not record.error:
            wanted = set(record.reached)
            for tensor_id, tensor in recording.registry.alive(wanted):
                gradient = gradient_of(tensor) if is_leaf(tensor) or retains_grad(tensor) else None
                if gradient is None:
                    empty += [tensor_id] if is_leaf(tensor) else []
                elif recording.values is not None:
                    recording.values.leaf(number, tensor_id, gradient)
        taken = tuple(t for t in empty if t in used)
        recording.backwards[number] = replace(record, end=len(recording.ops), empty=tuple(empty), taken=taken)
        if recording.flight:
            self._repeats.ended(recording.backwards[number])
        if not record.retain_graph and number not in recording.unwalked:
            nodes = [node_behind(each) for each in options_of(args, kwargs).get("inputs") or ()]
            recording.recorded.spend(record.graph.roots, nodes)

    def _with_arrivals(self, number: int, used: Collection[int]) -> Backward:
        """The record, with the leaves below the end of the walk that were seen to get a gradient, or not to.

        Of one that a hook has ``used``, or that a run inside this one has reached, neither can be seen.
        """
        record, arrivals = self.recording.backwards[number], self._arrivals.pop(number, None)
        if arrivals is None:
            return record
        got, rest = arrivals.after()
        inside = {t for _, run in self.recording.backwards.items(number + 1) for t in run.reached}
        arrived = [t for t in map(self.recording.id_of, got) if t not in inside]
        reached = dict.fromkeys((*record.reached, *arrived))
        without_gradient = {
            entry.tensor for leaf in rest if (entry := self.recording.registry.entry_of(leaf)) is not None
        }
        untouched = sorted(without_gradient.difference(reached, used, inside)) if record.graph.blind else ()
        return replace(record, reached=tuple(reached), untouched=tuple(untouched))

    def _returned(self, number: int, gradients: Any, first: int) -> None:
        """``autograd.grad`` is an op as well: what it returns has a history only under ``create_graph=True``."""
        recording = self.recording
        record = recording.backwards[number]
        inputs = tuple(dict.fromkeys((*record.roots, *record.reached)))
        now = len(recording.ops)
        tensors = [t for t in gradients if isinstance(t, Tensor)]
        entries = [recording.registry.enter(t, now, now) for t in tensors]
        traits = 0 if record.create_graph or any(entry.requires_grad for entry in entries) else int(Trait.CUT)
        outputs = tuple(entry.tensor for entry in entries)
        last = sequence_number()
        recording.append("grad", inputs, outputs, traits=traits, site=record.site, sequence=(first, last))
        if not traits and first == last:
            recording.recorded.elsewhere.add(zip(outputs, tensors, strict=True), now, record.start, now)

    def _kept_graph(self, number: int) -> None:
        """``backward(create_graph=True)`` made no node in this thread: those of the gradients are another one's."""
        recording = self.recording
        record = recording.backwards[number]
        leaves = recording.registry.alive(record.reached)
        gradients = [gradient for _, leaf in leaves if (gradient := gradient_of(leaf)) is not None]
        made = [(recording.id_of(gradient), gradient) for gradient in gradients]
        recording.recorded.elsewhere.add(made, -1, record.start, len(recording.ops))
