"""Everything that one inspection observed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, TypeVar

from msgspec import Struct

from autograd_inspector.model.autograd import AutogradGraph, Backward, Node
from autograd_inspector.model.checkpoint import Checkpoint
from autograd_inspector.model.display_names import DisplayNames
from autograd_inspector.model.event import (
    AliasWrite,
    GradientKept,
    GradRead,
    GradWrite,
    NoneGradient,
    ParameterReplacement,
    RequiresGradChanged,
    RetainedGraph,
    ScalarReentry,
    Step,
    TensorHook,
)
from autograd_inspector.model.graphs import graph_below
from autograd_inspector.model.location import Location, Site, with_role
from autograd_inspector.model.op import ModuleCall, Op, Region
from autograd_inspector.model.op_index import OpIndex
from autograd_inspector.model.placement import Placement
from autograd_inspector.model.program_events import Event, ParameterWrapped, ProgramEvent
from autograd_inspector.model.readers import Readers
from autograd_inspector.model.steps_history import History
from autograd_inspector.model.tensor import TensorRecord
from autograd_inspector.model.values import GradientFault, LeafValues, ValueFault
from autograd_inspector.model.vitals import Vitals

E = TypeVar("E", bound=ProgramEvent)


class Capture(Struct, frozen=True, omit_defaults=True, dict=True):
    """The observed program. Indices (op, tensor, site, call, region) point into the tuples of that name."""

    ops: tuple[Op, ...] = ()
    tensors: tuple[TensorRecord, ...] = ()
    sites: tuple[Site, ...] = ()
    calls: tuple[ModuleCall, ...] = ()
    regions: tuple[Region, ...] = ()
    backwards: tuple[Backward, ...] = ()
    nodes: tuple[Node, ...] = ()
    """The autograd nodes of the graphs of those runs, each once: see :meth:`graph_of`."""
    steps: tuple[Step, ...] = ()
    grad_reads: tuple[GradRead, ...] = ()
    grad_writes: tuple[GradWrite, ...] = ()
    gradients_kept: tuple[GradientKept, ...] = ()
    tensor_hooks: tuple[TensorHook, ...] = ()
    requires_grad_changes: tuple[RequiresGradChanged, ...] = ()
    events: tuple[Event, ...] = ()
    """What the program did to whole modules and whole optimizers."""
    replacements: tuple[ParameterReplacement, ...] = ()
    alias_writes: tuple[AliasWrite, ...] = ()
    scalar_reentries: tuple[ScalarReentry, ...] = ()
    given: dict[int, dict[str, float]] = {}
    """Op that wrote to a ``.grad`` or by ``.data``, or was given a number not above 0 -> its numbers, by place or name.

    Also one that assigned to an entry of a tensor, by its index, of which the program has other entries as views.

    Of several ranks also an op that was given as much as there are ranks, or one divided by that, where the number is
    not written out at that op. "ranks": the program had asked how many there are, and computed the number from that.
    "whole": it was given all of the tensor (``x[:] = 0``). Of several ranks also where an ``arange`` begins and ends.
    """
    value_faults: tuple[ValueFault, ...] = ()
    bad_tensors: tuple[int, ...] = ()
    """Tensors that were last seen with a NaN or Inf in them."""
    gradient_faults: tuple[GradientFault, ...] = ()
    leaf_values: tuple[LeafValues, ...] = ()
    placement: Placement = Placement()
    models: tuple[str, ...] = ()
    namespace: str = ""
    """The model that all qualified names are in; "" where each begins with its own model's, as there are several."""
    owners: dict[int, int] = {}
    """Parameter -> index of the model that has it now."""
    function_sites: dict[str, int] = {}
    """Custom autograd.Function -> the site of its backward's return statement, or of its definition.

    Of a blind one: where it takes no more than the gradient's layout.
    """
    gradient_sites: dict[str, tuple[int, ...]] = {}
    """Custom autograd.Function -> the site that decides on each value that its backward returns; -1: not known."""
    blind_functions: tuple[str, ...] = ()
    """Custom autograd.Functions whose backward never reads the gradient that it is given."""
    ignored_gradients: dict[str, tuple[int, ...]] = {}
    """Custom autograd.Function -> the outputs whose gradients its backward never reads; it reads another one's."""
    alive: tuple[int, ...] = ()
    """Tensors with a graph that the program still held at the end."""
    none_gradients: tuple[NoneGradient, ...] = ()
    retained_graphs: tuple[RetainedGraph, ...] = ()
    """Results of earlier steps, when the program held most of them at once."""
    history: History = History()
    """The training steps, also those whose records were folded away."""
    checkpoint: Checkpoint | None = None
    """What ``inspect_checkpoint`` was given."""
    error: str = ""
    error_site: int = -1
    """Where the program raised it; -1: outside of the user's own code, or it did not."""
    error_tensor: int = -1
    """The tensor that torch refused to send to another process; -1: no such error, or it was raised elsewhere."""
    nonfinite: tuple[int, str] = (-1, "")
    """(site, number) of the first NaN or Inf that left torch as a plain number (``loss.item()``)."""
    values_read: bool = False
    """Tensor values were opted in."""
    vitals: Vitals = Vitals()
    """Statistics over the steps, where they were opted in."""
    stopped: str = ""
    """Why the inspector itself stopped recording before the end: what came after is not in the capture."""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    torch_version: str = ""
    rank: int = -1
    """Of this process in the default process group; -1: there was none at the last step, nor at the end."""
    world_size: int = 0

    def site(self, index: int) -> tuple[Location, ...]:
        """The frames of a site, () for -1."""
        return self.sites[index].frames if index >= 0 else ()

    def place(self, index: int, role: str = "") -> Location | None:
        """The user's own line of a site, with a role."""
        user = self.sites[index].user if index >= 0 else None
        return None if user is None else with_role(user, role)

    def calls_around(self, call: int) -> Iterator[ModuleCall]:
        """A call and those that it was made in, from the inside out; none for -1."""
        while call >= 0:
            around = self.calls[call]
            yield around
            call = around.parent

    def call_of(self, op: Op) -> ModuleCall | None:
        """The call of a module that an op ran in; None outside of all."""
        return self.calls[op.call] if op.call >= 0 else None

    def outermost_call(self, number: int) -> ModuleCall:
        """The call that the call of that number was made in, and that was made in no other."""
        call = self.calls[number]
        while call.parent >= 0:
            call = self.calls[call.parent]
        return call

    def model_call_of(self, op: Op) -> ModuleCall | None:
        """The outermost call of a module that an op ran in; None outside of all."""
        return self.outermost_call(op.call) if op.call >= 0 else None

    def op_of(self, node: Node) -> Op | None:
        """The op that made a node; None where that is not known."""
        return self.ops[node.op] if node.op >= 0 else None

    @cached_property
    def observed_ops(self) -> int:
        """How many torch calls were observed, those of folded steps with them."""
        if not self.history.folded:
            return len(self.ops)
        steps = self.history.ops
        in_steps = sum(calls * times for calls, times in zip(steps.values, steps.times, strict=True))
        last = len(self.ops) if self.history.unfinished else max((step.op for step in self.steps), default=-1) + 1
        return in_steps + len(self.ops) - last

    @cached_property
    def completed_runs(self) -> tuple[Backward, ...]:
        """The backward() calls that came to their end."""
        return tuple(run for run in self.backwards if run.completed)

    def events_of(self, kind: type[E]) -> tuple[E, ...]:
        """The events of that kind, in program order."""
        events = self._events.get(kind)
        if events is None:
            events = self._events[kind] = tuple(event for event in self.events if isinstance(event, kind))
        return events

    @cached_property
    def _events(self) -> dict[type, tuple[Any, ...]]:
        return {}

    def graph_of(self, run: Backward) -> AutogradGraph:
        """The autograd graph that one run went through, by itself."""
        return graph_below(self.nodes, run.graph)

    def unsettled(self, tensors: Iterable[int]) -> frozenset[int]:
        """Those that a backward may have reached unseen: of its graph something is unknown, and so are they to it."""
        runs = [run for run in self.backwards if run.graph.blind and run.api == "backward" and not run.error]
        settled = [frozenset((*run.reached, *run.untouched)) for run in runs]
        return frozenset(tensor for tensor in tensors if any(tensor not in leaves for leaves in settled))

    @cached_property
    def display_names(self) -> DisplayNames:
        """What findings, tables, pictures and fixes call each tensor."""
        return DisplayNames(
            self.tensors, self.namespace, self.models, {row.tensor: row.name for row in self.placement.rows}
        )

    @cached_property
    def changes_of(self) -> dict[int, list[tuple[int, RequiresGradChanged]]]:
        """Leaf -> (number of the change, change), each time its ``requires_grad`` was set."""
        changes: dict[int, list[tuple[int, RequiresGradChanged]]] = {}
        for number, change in enumerate(self.requires_grad_changes):
            changes.setdefault(change.tensor, []).append((number, change))
        return changes

    def requires_grad_at(self, tensor: int, at: int) -> bool:
        """``requires_grad`` of a leaf when the op of that index ran: its record has that of the end."""
        wanted = self.tensors[tensor].requires_grad
        for _, change in reversed(self.changes_of.get(tensor, ())):
            if change.at <= at:
                return change.requires_grad
            wanted = not change.requires_grad
        return wanted

    @cached_property
    def optimized(self) -> frozenset[int]:
        """Tensor ids of the parameters that some optimizer of the capture holds."""
        return frozenset(tensor for optimizer in self.placement.optimizers for tensor in optimizer.held)

    @cached_property
    def stored(self) -> frozenset[int]:
        """The memory of parameters, which an alias (`.data`) writes as well as they do."""
        return frozenset(r.storage for r in self.tensors if r.kind == "parameter" and r.storage >= 0)

    @cached_property
    def asked_memory(self) -> frozenset[int]:
        """The memory of leaves that require grad."""
        return frozenset(r.storage for r in self.tensors if r.leaf and r.requires_grad and r.storage >= 0)

    @cached_property
    def op_index(self) -> OpIndex:
        """The ops by what they are called, and by what they are."""
        return OpIndex(self.ops, self.nodes)

    @cached_property
    def readers(self) -> Readers:
        """Tensor -> the ops that read it, in program order."""
        return Readers(self.ops, len(self.tensors))

    @cached_property
    def none_gradients_of(self) -> dict[int, list[tuple[int, ...]]]:
        """Sequence number of a custom Function's node -> what its backward returned None for, the last time last."""
        missing_by_seq: dict[int, list[tuple[int, ...]]] = {}
        for gap in self.none_gradients:
            missing_by_seq.setdefault(gap.seq, []).append(gap.missing)
        return missing_by_seq

    def none_places(self, seq: int) -> tuple[int, ...]:
        """Where a None stood for a gradient, among all that a custom Function returned the last time."""
        gaps = [gap for gap in self.none_gradients if gap.seq == seq]
        return gaps[-1].places or gaps[-1].missing if gaps else ()

    @cached_property
    def begun(self) -> frozenset[int]:
        """The tensors that engine runs started from."""
        return frozenset(root for run in self.backwards if run.api != "alive" for root in run.roots)

    @cached_property
    def wrapped(self) -> frozenset[int]:
        """Parameters that ``nn.Parameter(t)`` made of a tensor with a history."""
        return frozenset(event.tensor for event in self.events_of(ParameterWrapped))
