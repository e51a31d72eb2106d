"""A capture with what several rules need of it, each worked out once."""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

from autograd_inspector.analysis.computations import Computations
from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.analysis.estimator_terms import estimates
from autograd_inspector.analysis.gradient_cuts.classifier import GradientCut
from autograd_inspector.analysis.gradient_cuts.constant_derivatives import constant_derivatives
from autograd_inspector.analysis.gradient_cuts.constant_loss_terms import constant_terms
from autograd_inspector.analysis.gradient_cuts.harmful import harmful_cuts
from autograd_inspector.analysis.gradient_cuts.partial_cuts import partial_cuts
from autograd_inspector.analysis.gradient_cuts.served_again import served_again
from autograd_inspector.analysis.gradient_cuts.stopped import stopped_cuts
from autograd_inspector.analysis.gradient_cuts.truncated import is_truncated
from autograd_inspector.analysis.gradients_looked_for import looked_for
from autograd_inspector.analysis.losses_without_backward import losses_without_backward
from autograd_inspector.analysis.memory_reads import MemoryReads
from autograd_inspector.analysis.none_returned import behind_none
from autograd_inspector.analysis.op_kinds import OpKind
from autograd_inspector.analysis.ops_of import any_of, calls_of
from autograd_inspector.analysis.parameters.lifecycle import ParameterLifecycle
from autograd_inspector.analysis.parameters.made_anew import made_anew, without_their_cuts
from autograd_inspector.analysis.parameters.probed_copies import trained_beside
from autograd_inspector.analysis.parameters.stood_in import stood_in
from autograd_inspector.analysis.parameters.unoptimized import Unoptimized, copies_of, unoptimized_of
from autograd_inspector.analysis.parameters.unregistered import unregistered_of
from autograd_inspector.analysis.parameters.unserved import unserved
from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.analysis.read_values import ReadValues
from autograd_inspector.analysis.recorded_edits import RecordedEdits
from autograd_inspector.analysis.rounds import Rounds, rounds_of
from autograd_inspector.analysis.seen_gradients import gradients_of
from autograd_inspector.analysis.sure_zeros import surely_zero
from autograd_inspector.analysis.timeline import Timeline
from autograd_inspector.analysis.unset_values import unset_values
from autograd_inspector.analysis.write_index import WriteIndex
from autograd_inspector.model.autograd import Backward, Node
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.event import GradRead
from autograd_inspector.model.graphs import KindsBelow, RunGraphs, in_order, leaves_below
from autograd_inspector.model.location import CALLER, Location, with_role
from autograd_inspector.model.op import Op
from autograd_inspector.model.torch_names import UPDATE_SCALE
from autograd_inspector.model.values import GradientFault, ValueFault


class Sited(Protocol):
    """A record of something that a line of the program did."""

    @property
    def site(self) -> int:
        """The call chain that led there."""
        ...


class Analysis:
    """A capture with the indices that several rules need, each computed once and only when asked for."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.flow = DataFlow(capture)
        self.lifecycle = ParameterLifecycle(capture, self.flow)
        self.timeline = Timeline(capture)
        writes = WriteIndex(capture)
        self.writes_to, self.writes_in, self.writes_back = writes.writes_to, writes.writes_in, writes.writes_back
        self.written = writes.written

    @cached_property
    def computations(self) -> Computations:
        """How tensors were computed, by number."""
        return Computations(self.flow)

    @cached_property
    def read_values(self) -> ReadValues:
        """Which value of a tensor an op read."""
        return ReadValues(self.capture)

    @cached_property
    def recorded_edits(self) -> RecordedEdits:
        """What autograd recorded in place."""
        return RecordedEdits(self.capture)

    @cached_property
    def reductions(self) -> Reductions:
        """Which gradients were reduced over the ranks."""
        return Reductions(self.capture, self.timeline, lambda: self.gradients)

    @cached_property
    def returns_zeros(self) -> bool:
        """Whether any op made zeros; where none did, nobody needs to know what made a gradient's memory."""
        return any_of(self.capture, OpKind.RETURNS_ZEROS)

    @cached_property
    def rounds(self) -> Rounds:
        """The rounds of the training loop."""
        return rounds_of(self.capture, self.gradients)

    @cached_property
    def received_gradient(self) -> frozenset[int]:
        """Leaves that some backward of the capture gave a gradient, also in steps that are folded away."""
        return frozenset(self.capture.history.reached) | frozenset(
            tensor
            for run in self.capture.backwards
            if run.completed
            for tensor in run.reached
            if tensor not in run.empty
        )

    @cached_property
    def optimized_trainable(self) -> frozenset[int]:
        """Parameters meant to learn: they sit in an optimizer that the program steps, and require grad when it does.

        What is frozen in training may well be thawed at the end, to be saved or for the next stage.
        """
        optimizers = self.capture.placement.optimizers
        stepped = [o for o in optimizers if o.steps] or list(optimizers)
        held = {t for o in stepped for t in o.held}
        last = {p.tensor: step.at for step in self.capture.steps for p in step.parameters}
        end = len(self.capture.ops)
        return frozenset(t for t in held if self.lifecycle.requires_grad_at(t, last.get(t, end)))

    @cached_property
    def about_to_step(self) -> frozenset[int]:
        """What an optimizer holds that the program, which failed, never came to step."""
        waiting = (o for o in self.capture.placement.optimizers if self.capture.error and not o.steps)
        end = len(self.capture.ops)
        return frozenset(t for o in waiting for t in o.held if self.lifecycle.requires_grad_at(t, end))

    @cached_property
    def learning(self) -> frozenset[int]:
        """What a part of a gradient may be missed of: what is meant to learn, without any optimizer all that got one."""
        return self.optimized_trainable if self.capture.optimized else self.received_gradient

    @cached_property
    def without_gradient(self) -> frozenset[int]:
        """Parameters meant to learn that no backward reached, as far as its graph was seen to the end."""
        orphans = set(self.unoptimized.orphans) if self.unoptimized is not None else set()
        assigned = {
            write.tensor
            for write in self.capture.grad_writes
            if write.gradient >= 0
            and (
                write.tensor in self.received_gradient
                # What was assigned as zeros may be added to until the step uses it; others may become zeros until then.
                or not surely_zero(self.capture, self.flow, write.gradient, write.at)
                or (at := next((s.op for s in self.timeline.steps.since(write.at) if write.tensor in s.held), -1)) < 0
                or not surely_zero(self.capture, self.flow, write.gradient, at)
            )
        }
        unserved_here = unserved(self.capture) - self.in_graph_without_gradient
        missed = (self.optimized_trainable - (self.received_gradient - unserved_here)) - orphans - assigned
        missed -= self.reductions.brought | self.reductions.flattened
        return missed - self.capture.unsettled(missed)

    @cached_property
    def behind_none(self) -> frozenset[int]:
        """The nodes to which no gradient came, because Functions returned None for the inputs that lead there."""
        return behind_none(self.capture, self.run_graphs)

    @cached_property
    def in_graph_without_gradient(self) -> frozenset[int]:
        """Leaves that a backward's graph held and that still had no gradient afterwards."""
        return frozenset(t for run in self.capture.backwards for t in run.empty) - self.received_gradient

    @cached_property
    def joined_by_wrapper(self) -> frozenset[int]:
        """What is in a loss's graph only because a wrapper joins its outputs, of which the loss uses others."""
        returned_none = {self.capture.nodes[number].variable for number in self.behind_none}
        return frozenset(self.reductions.wrapper_of) - returned_none

    def leaves_below(self, start: Node) -> set[int]:
        """The leaves whose gradient comes through a node."""
        return set(self.leaves.of(child for child, _ in start.edges))

    def spoiled_below(self, fault: GradientFault) -> set[int]:
        """The leaves whose gradient comes through the edges of a node that were given something bad."""
        edges = self.capture.nodes[fault.node].edges
        return set(self.leaves.of(child for place, (child, _) in enumerate(edges) if place not in fault.spared))

    def nodes_of(self, run: Backward) -> list[Node]:
        """The nodes of one run, as a walk meets them: for what is asked of few runs."""
        nodes = self.capture.nodes
        return [nodes[number] for number in in_order(nodes, run.graph.roots)]

    @cached_property
    def memory_reads(self) -> MemoryReads:
        """The lines that read what lies in a storage."""
        return MemoryReads(self.capture)

    @cached_property
    def leaves(self) -> KindsBelow[int]:
        """The leaves below any of the nodes."""
        return leaves_below(self.capture.nodes)

    @cached_property
    def run_graphs(self) -> RunGraphs:
        """The runs that did not fail, with what each added to the graphs of those before."""
        runs = self.capture.backwards
        return RunGraphs(self.capture.nodes, (run for run in runs if not run.error and run.api != "alive"))

    @cached_property
    def unoptimized(self) -> Unoptimized | None:
        """What the last step left out."""
        return unoptimized_of(self.capture, self.writes_to, self.flow, self.stood_in)

    @cached_property
    def unregistered(self) -> frozenset[int]:
        """Leaves that modules use and backward reaches, and that no module has registered."""
        return unregistered_of(self.capture, self.received_gradient)

    @cached_property
    def made_anew(self) -> dict[int, tuple[int, ...]]:
        """Parameters without a gradient -> the unregistered copies of them that a forward computes with instead."""
        return made_anew(self.capture, self.flow, self.unregistered, self.without_gradient)

    @cached_property
    def stood_in(self) -> dict[int, tuple[int, ...]]:
        """Leaves that learn in the place of parameters -> these."""
        return stood_in(self.capture, self.flow)

    @cached_property
    def replaced_by_leaves(self) -> frozenset[int]:
        """The parameters that leaves learn in the place of."""
        return frozenset(origin for origins in self.stood_in.values() for origin in origins)

    @cached_property
    def passed_through(self) -> frozenset[int]:
        """What no optimizer has and what learns gets its gradient through: models in eval mode alone.

        A teacher, a loss network, a model to prompt: nobody means them to learn.
        """
        left_out = self.unoptimized.parameters if self.unoptimized is not None else ()
        roots = {self.capture.owners.get(tensor, -1) for tensor in left_out}
        trained = self.capture.optimized & self.received_gradient
        own = any(self.capture.owners.get(tensor, -1) in roots for tensor in self.capture.optimized)
        if -1 in roots or not trained or own:
            return frozenset()
        calls = [call for call in self.capture.calls if call.root in roots]
        return frozenset(left_out if calls and not any(call.training for call in calls) else ())

    @cached_property
    def copies(self) -> tuple[int, ...]:
        """Unoptimized parameters that are a copy of trained ones."""
        loose = self.unoptimized
        return () if loose is None else copies_of(self.capture, loose, self.writes_to, self.flow)

    @cached_property
    def copies_used(self) -> bool:
        """Whether the program computes with the gradient of a copy: a control variate (SVRG, SCAFFOLD)."""
        gradients = (gradient for copy in self.copies for gradient in self.gradients.get(copy, ()))
        return any(self.capture.readers.get(gradient) for gradient in gradients)

    @cached_property
    def trained_beside_copies(self) -> tuple[int, ...]:
        """The copies, where a loss that trains something takes them in beside it."""
        return self.copies if self.copies and trained_beside(self.capture, self.copies) else ()

    @cached_property
    def harmful_cuts(self) -> tuple[GradientCut, ...]:
        """The cuts that matter."""
        cuts = harmful_cuts(
            self.capture,
            self.flow,
            self.optimized_trainable | self.about_to_step,
            # What lies in the graph of a run is cut off by nothing: a Function returned None for it, unless a wrapper
            # has joined it with what the loss uses. Nor is what a model no longer has.
            frozenset(
                tensor
                for tensor in (self.without_gradient | self.looked_for.keys())
                - (self.in_graph_without_gradient - self.joined_by_wrapper)
                if tensor not in self.losses_without_backward and self.lifecycle.taken_out(tensor) is None
            ),
        )
        replaced = {*self.made_anew, *self.replaced_by_leaves}
        told = without_their_cuts(cuts, replaced) if replaced else tuple(cuts)
        return tuple(served_again(self.capture, self.flow, cut) for cut in told)

    @cached_property
    def stopped_cuts(self) -> tuple[GradientCut, ...]:
        """The cuts by which parameters stopped learning."""
        return tuple(stopped_cuts(self.capture, self.flow))

    @cached_property
    def looked_for(self) -> dict[int, GradRead]:
        """Tensors that no model has and no optimizer holds, and whose gradient the program looks for and does not find."""
        reads = looked_for(self.capture)
        missed = reads.keys() - self.received_gradient - self.capture.optimized if reads else set()
        return {tensor: reads[tensor] for tensor in missed - self.capture.unsettled(missed)}

    @cached_property
    def losses_without_backward(self) -> dict[int, Op]:
        """Parameters whose own loss backward() was never called on -> the op that made that loss."""
        losses = losses_without_backward(self.capture, self.timeline)
        return {tensor: loss for tensor, loss in losses.items() if tensor not in self.replaced_by_leaves}

    @cached_property
    def constant_terms(self) -> tuple[GradientCut, ...]:
        """The cuts that make a term of a loss a constant, although the rest of it learns."""
        harmful_ops = {op.index for cut in self.harmful_cuts for op in cut.ops}
        meant = self.optimized_trainable
        cuts = (
            *constant_terms(self.capture, self.flow, meant, self.harmful_cuts, self.passed_through),
            *constant_derivatives(self.capture, self.flow, meant),
        )
        untold = [cut for cut in cuts if not harmful_ops.intersection(op.index for op in cut.ops)]
        untold = [cut for cut in untold if not is_truncated(self.run_graphs, self.flow, cut)]
        return tuple(
            cut
            for cut in untold
            if cut.added < 0 or not estimates(self.capture, self.flow, self.capture.ops[cut.added])
        )

    @cached_property
    def told_cuts(self) -> tuple[GradientCut, ...]:
        """The cuts that there is something to tell of; those that keep away a part of a gradient come last."""
        cuts = (*self.harmful_cuts, *self.stopped_cuts, *self.constant_terms)
        told_ops = {op.index for cut in cuts for op in cut.ops}
        partial = partial_cuts(self.capture, self.flow, self.optimized_trainable)
        return (*cuts, *(cut for cut in partial if not told_ops.intersection(op.index for op in cut.ops)))

    @cached_property
    def gradients(self) -> dict[int, frozenset[int]]:
        """Tensor -> the tensors that were seen as its ``.grad``."""
        return gradients_of(self.capture)

    @cached_property
    def bad_tensors(self) -> frozenset[int]:
        """Tensors that were last seen with a NaN or Inf in them."""
        return frozenset(self.capture.bad_tensors)

    @cached_property
    def value_faults(self) -> tuple[ValueFault, ...]:
        """Those that say something: what computes with memory that nothing had written to makes anything."""
        faults = self.capture.value_faults
        return tuple(f for f in faults if (f.op if f.op >= 0 else f.met_by) not in self.unset)

    @cached_property
    def unset(self) -> frozenset[int]:
        """The ops that computed with memory that nothing had written to."""
        return unset_values(self.capture)

    @cached_property
    def scales(self) -> frozenset[int]:
        """The scales of the GradScalers that updated theirs."""
        updates = (op for op in calls_of(self.capture, UPDATE_SCALE) if op.inputs)
        return frozenset(op.inputs[0] for op in updates)

    def user_frames(self, site: int, role: str) -> tuple[Location, ...]:
        """The user's frames of a site, innermost first: the first plays ``role``, the others called it."""
        frames = self.capture.site(site)
        shown_frames = [frame for frame in frames if not frame.library] or list(frames[:1])
        return tuple(with_role(frame, role if i == 0 else CALLER) for i, frame in enumerate(shown_frames))

    def places(self, *parts: tuple[Sited | int | None, str]) -> tuple[Location, ...]:
        """The user's frames of several records or sites, one after the other, each in its role; of None there are none."""
        sites = ((part if isinstance(part, int) else part.site, role) for part, role in parts if part is not None)
        return tuple(frame for site, role in sites for frame in self.user_frames(site, role))


def line_of(analysis: Analysis, site: int) -> tuple[str, int] | None:
    """(file, line) of the user's own frame of a site."""
    place = analysis.capture.place(site)
    return None if place is None else place.line
