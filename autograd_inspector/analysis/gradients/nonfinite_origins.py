"""Which op, step or datum the first NaN or Inf of a loss comes from."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradient_cuts.classifier import differentiable
from autograd_inspector.analysis.gradients.clearing import renewed
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.values import ValueFault


def origin(analysis: Analysis, run: Backward) -> ValueFault | None:
    """Where that of a loss comes from: an op above it, or a step that left such weights to it.

    What made such weights may have been the same loss in an earlier step, also in one that is folded away.
    """
    above = ops_above(analysis, run)
    forward_fault, step = forward_fault_in(analysis, above), _by_a_step(analysis, run, above)
    if forward_fault is not None and (
        step is None
        or forward_fault.op < 0
        or is_meant(analysis, forward_fault)
        or all(r.finite for r in forward_fault.inputs)
    ):
        return forward_fault
    earlier = _of_an_earlier_loss(analysis, run, above)
    candidates = [fault for fault in analysis.value_faults if fault is earlier or fault is step]
    return next(iter(candidates), forward_fault)


def masked(analysis: Analysis, run: Backward) -> ValueFault | None:
    """The first NaN above a finite loss, made by an op or in the data: a mask, or nan_to_num, keeps it from the loss alone."""
    above = ops_above(analysis, run)
    return next(
        (f for f in analysis.value_faults if _is_in(analysis, f, above) and any(r.nan for r in f.outputs)), None
    )


def _is_in(analysis: Analysis, fault: ValueFault, above: frozenset[int]) -> bool:
    """Whether it was made by one of these ops, or is in data that one of them reads: another may have read them first."""
    if fault.op >= 0:
        return fault.op in above
    readers = analysis.capture.readers
    return fault.met_by in above or any(not above.isdisjoint(readers.get(made.tensor, ())) for made in fault.outputs)


def hiding(analysis: Analysis, run: Backward) -> list[Op]:
    """The ops above a finite loss, in program order, that were given a NaN or Inf, with its graph, and returned none."""
    capture = analysis.capture
    bad = frozenset(capture.bad_tensors)
    ops = [capture.ops[index] for index in sorted(ops_above(analysis, run))]
    return [
        op
        for op in ops
        if op.last_seq > op.first_seq
        and any(t in bad and capture.tensors[t].requires_grad for t in op.inputs)
        and bad.isdisjoint(op.outputs)
    ]


def given_up(analysis: Analysis, run: Backward, spoiled: set[int]) -> bool:
    """Whether the program cleared what a backward left before anything stepped with it, and the next one was sound.

    A program that looks at its gradients leaves such a batch out. One that never comes to a step again is told, and so is
    one whose steps are folded away: whether one came between the two is not known then.
    """
    if analysis.capture.history.folded:
        return False
    timeline = analysis.timeline
    following = timeline.next_run(run)
    if following is None or following.index in spoiled or any(holds_bad(analysis, root) for root in following.roots):
        return False
    stepped = timeline.steps.places(run.end, following.start)
    later = timeline.steps.places(following.end, len(analysis.capture.ops))
    return not stepped and bool(later) and renewed(analysis, list(run.reached), run.end, following)


def forward_fault_in(analysis: Analysis, above: frozenset[int]) -> ValueFault | None:
    """The first producer upstream of the loss; an infinity that was meant (a mask) only where there is no other."""
    met = [f for f in analysis.value_faults if _is_in(analysis, f, above)]
    unmeant = [f for f in met if any(r.nan for r in f.outputs) or not is_meant(analysis, f)]
    return next(iter(unmeant or met), None)


def ops_above(analysis: Analysis, run: Backward) -> frozenset[int]:
    """The ops upstream of the losses of a run, as far as a NaN or Inf comes: what it is an index of is finite."""
    tensors = analysis.capture.tensors
    starts = [(root, run.start) for root in run.roots]
    return frozenset(
        op.index for op, _ in analysis.flow.upstream(starts, lambda _, t: differentiable(tensors[t].dtype))
    )


def holds_bad(analysis: Analysis, tensor: int) -> bool:
    """Whether a root was seen to be not finite: some op made it so, or passed it on."""
    return tensor in analysis.bad_tensors


def is_meant(analysis: Analysis, fault: ValueFault) -> bool:
    """Whether the program itself put the infinity there, or it was in what it began with."""
    return fault.op < 0 or is_a(analysis.capture.ops[fault.op].name, OpKind.SETS_NUMBER)


def _by_a_step(analysis: Analysis, run: Backward, above: frozenset[int]) -> ValueFault | None:
    """The first step that made such weights, of those that the loss is computed from, out of sound gradients."""
    ops = analysis.capture.ops
    read = {tensor for index in above for tensor in ops[index].inputs}
    return next(
        (
            fault
            for fault in analysis.value_faults
            if 0 <= fault.op < run.start and ops[fault.op].has(Trait.STEP)
            if any(made.tensor in read for made in fault.outputs) and not _had_bad_gradients(analysis, fault)
        ),
        None,
    )


def _had_bad_gradients(analysis: Analysis, fault: ValueFault) -> bool:
    """Whether some backward before a step had left gradients that are not finite."""
    capture = analysis.capture
    bad = [v.backward for v in capture.leaf_values if v.nonfinite]
    bad += [f.backward for f in capture.gradient_faults if f.kind == "nonfinite"]
    return any(capture.backwards[number].start < fault.op for number in bad)


def _of_an_earlier_loss(analysis: Analysis, run: Backward, above: frozenset[int]) -> ValueFault | None:
    """The first fault of the same lines, before the steps that came between."""
    capture = analysis.capture
    lines = {(capture.ops[index].name, capture.ops[index].site) for index in above}
    for fault in analysis.value_faults:
        op = capture.ops[fault.op] if fault.op >= 0 else None
        if (
            op is not None
            and op.index not in above
            and op.index < run.start
            and (op.name, op.site) in lines
            and not is_meant(analysis, fault)
        ):
            return fault
    return None
