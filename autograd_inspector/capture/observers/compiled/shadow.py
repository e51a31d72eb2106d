"""A compiled graph run again without its data: torch tells of each op what the compiled code does not.

The kernels that a backend made show none of the ops. The graph that they were made from, run on tensors without
memory that stand for the real ones, shows all of them: which have a history, which share memory, what is written. It
is autograd's own answer. Nothing is computed, no random number is drawn, and the graph of autograd that this makes
lives as long as the node of the compiled region, which is where the walk finds it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from msgspec.structs import replace
from torch import Tensor
from torch.nn import Parameter

from autograd_inspector.capture.compiled.plan import Made, Step
from autograd_inspector.capture.graph_walk.regions import Edge, Inside
from autograd_inspector.capture.lines.kinds import Kinds
from autograd_inspector.capture.observers.calls.arguments import gather
from autograd_inspector.capture.recording.compiled_regions import put_inside
from autograd_inspector.capture.recording.raw_records import OP_WRITES
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import needs_grad, node_of, version_of
from autograd_inspector.capture.torch_private.compiled import fake_mode, mode_of_stand_ins, set_version
from autograd_inspector.capture.torch_private.modes import DisableTorchFunction
from autograd_inspector.capture.torch_private.resolving import MISSING
from autograd_inspector.model.op import Write

PLAIN = Kinds(Tensor, Parameter)


class Shadow:
    """The stand-ins for one call's inputs. ``versions``: what their counters were before the call.

    Where values are read the stand-ins have values: copies of the inputs, taken before the call, and parameters that it
    did not write. Then each op is computed a second time, with random numbers of its own.
    """

    def __init__(self, recording: Recording, args: Sequence[Any]) -> None:
        self._recording = recording
        self._args = args
        self._start = len(recording.ops)
        self.versions = [version_of(each) if isinstance(each, Tensor) else -1 for each in args]
        self._required = [needs_grad(each) if isinstance(each, Tensor) else False for each in args]
        self._edges = [_edge(each) for each in args]
        self._borders: dict[Any, Edge] = {}
        self._leaves: set[int] = set()
        self._fakes: tuple[Any, ...] = ()
        self._copies = [self._copied(each) for each in args] if recording.values is not None else []
        self.mode: Any = None

    @property
    def given(self) -> Sequence[Any]:
        """The real inputs."""
        return self._args

    @staticmethod
    def _copied(value: Any) -> Any:
        return value.detach().clone() if isinstance(value, Tensor) and type(value) is not Parameter else None

    @property
    def has_values(self) -> bool:
        """Whether the stand-ins have values."""
        written = [
            type(each) is Parameter and version_of(each) != version
            for each, version in zip(self._args, self.versions, strict=True)
        ]
        return bool(self._copies) and not any(written)

    def stand_ins(self) -> tuple[Any, ...]:
        """What the graph is run with."""
        self._start = len(self._recording.ops)
        valued = self.has_values
        self.mode = torch.random.fork_rng() if valued else mode_of_stand_ins()
        with DisableTorchFunction(), torch.enable_grad(), torch.inference_mode(mode=False):
            for at, each in enumerate(self._args):
                if self._required[at] and self._edges[at] is None:
                    self._edges[at] = _accumulator(each)
                    self._leaves.add(at)
        making = contextlib.nullcontext() if valued else self.mode
        with DisableTorchFunction(), torch.enable_grad(), torch.inference_mode(mode=False), making:
            self._fakes = tuple([self._stand_in(at, each, valued=valued) for at, each in enumerate(self._args)])
        return self._fakes

    def _stand_in(self, at: int, real: Any, *, valued: bool) -> Any:
        if not isinstance(real, Tensor):
            return real
        if valued:
            copy = self._copies[at]
            fake = real.detach() if copy is None else copy
        else:
            with torch.inference_mode(mode=real.is_inference()):
                fake = _like(real)
        edge = self._edges[at]
        if self._required[at]:
            fake.requires_grad_()
            if at in self._leaves and edge is not None:
                self._borders[_accumulator(fake)[0]] = edge
            elif edge is not None:
                fake = fake.clone()
                self._borders[node_of(fake)] = edge
        counter = set_version()
        if counter is not MISSING and self.versions[at] >= 0:
            counter((fake,), (self.versions[at],))
        self._recording.registry.join(real, fake, len(self._recording.ops))
        return fake

    @staticmethod
    def like(made: Made, connected: list[Tensor]) -> Any:
        """A tensor like the one that tracing knew, computed from others."""
        with DisableTorchFunction():
            return _made(made, [each for each in connected if needs_grad(each)])

    def stand_in_for(self, step: Step, arguments: Any) -> Any:
        """A result like the one that tracing knew, for a step that cannot be run without data."""
        recording = self._recording
        inputs: list[Tensor] = []
        gather(arguments, inputs)
        with DisableTorchFunction():
            result = _made(step.made, connected=[each for each in inputs if needs_grad(each)])
        made: list[Tensor] = []
        gather((result,), made)
        name = str(getattr(step.target, "__name__", step.target))
        numbers = tuple([recording.id_of(each) for each in inputs])
        index = len(recording.ops)
        outputs = tuple([recording.registry.enter(each, index, index).tensor for each in made])
        recording.append(name, numbers, outputs, versions=tuple(map(version_of, inputs)))
        return result

    def joined(self, results: Any, real: Any) -> None:
        """What the graph returned is what the compiled code returned: from now on the capture means that."""
        recording = self._recording
        fakes = results if isinstance(results, (tuple, list)) else (results,)
        reals = real if isinstance(real, (tuple, list)) else (real,)
        nodes: dict[Any, list[Any]] = {}
        for fake, each in zip(fakes, reals, strict=False):
            if not (isinstance(fake, Tensor) and isinstance(each, Tensor)):
                continue
            recording.registry.take_over(fake, each)
            region, own = self._region_of(node_of(each)), node_of(fake)
            if region is not None:
                slot = each.output_nr if region is node_of(each) else -1
                nodes.setdefault(region, []).extend([(slot, (own, fake.output_nr))] if own is not None else ())
        for region, ends in nodes.items():
            put_inside(region, Inside(tuple(ends), self._borders))
        self._settle()

    def _region_of(self, node: Any) -> Any:
        """This call's node, which a result came from, maybe by a view that was taken of its result.

        None for what is only a view of an input, which another call may have made.
        """
        given = {edge[0] for edge in self._edges if edge is not None}
        for _ in range(4):
            if node is None or node in given:
                return None
            if isinstance(node, torch.autograd.function.BackwardCFunction):
                return node
            node = next((each for each, _ in node.next_functions if each is not None), None)
        return None

    def _settle(self) -> None:
        """Counters stand where the compiled code left them: it writes once where the graph does often."""
        recording = self._recording
        left: dict[int, int] = {}
        openly: dict[int, Write] = {}
        """Of memory that the graph wrote beside autograd, and the compiled code before its eyes: that write."""
        for each, fake, version in zip(self._args, self._fakes, self.versions, strict=True):
            if isinstance(each, Tensor):
                entry = recording.registry.entries[recording.id_of(each)]
                entry.requires_grad = needs_grad(each)
                now = left[entry.storage] = version_of(each)
                if now > version and version_of(fake) == version:
                    openly[entry.storage] = Write(entry.tensor, entry.storage, version, now)
        self._fakes = ()
        written = [(index, op) for index, op in recording.ops.items(self._start) if op[OP_WRITES]]
        last = {write.storage: index for index, op in written for write in op[OP_WRITES]}
        for index, op in written:
            writes = tuple(
                [
                    openly.get(write.storage) or _settled(write, left, final=last[write.storage] == index)
                    for write in op[OP_WRITES]
                    if last[write.storage] == index or write.storage not in openly
                ]
            )
            settled: Any = (*op[:OP_WRITES], writes, *op[OP_WRITES + 1 :])
            recording.ops[index] = settled


def can_stand_in(args: Iterable[Any]) -> bool:
    """Whether all tensors of a call are of the plain kind."""
    return fake_mode() is not MISSING and all(
        type(each) in PLAIN and each.layout is torch.strided for each in args if isinstance(each, Tensor)
    )


def _settled(write: Write, left: dict[int, int], *, final: bool) -> Write:
    end = left.get(write.storage, -1)
    if end < 0:
        return write
    after = end if final else min(write.after, end)
    return replace(write, before=min(write.before, after), after=after)


def _like(real: Tensor) -> Any:
    return torch.empty_strided(real.shape, real.stride(), dtype=real.dtype, device=real.device)


def _edge(value: Any) -> Edge | None:
    """Where the gradient of an input with a history goes in the program's own graph."""
    node = node_of(value) if isinstance(value, Tensor) and needs_grad(value) else None
    return None if node is None else (node, value.output_nr)


def _accumulator(leaf: Any) -> Edge:
    edge = torch.autograd.graph.get_gradient_edge(leaf)
    return edge.node, edge.output_nr


def _made(made: Any, connected: list[Tensor]) -> Any:
    if isinstance(made, list):
        return tuple([_made(each, connected) for each in made])
    if not isinstance(made, Made) or any(size < 0 for size in made.shape):
        return None
    result = torch.empty(made.shape, dtype=made.dtype, device=made.device)
    if made.requires_grad and connected:
        for each in connected:
            result = result + each.sum().to(result.dtype) if each.is_floating_point() else result
    return result
