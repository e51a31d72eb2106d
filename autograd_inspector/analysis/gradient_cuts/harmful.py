"""Where data went on and gradient did not: the analysis that the AG10x rules share."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.analysis.failed_reads import last_read
from autograd_inspector.analysis.gradient_cuts.asked_in_vain import asked_in_vain
from autograd_inspector.analysis.gradient_cuts.classifier import (
    Cause,
    Cut,
    GradientCut,
    cause_of,
    differentiable,
    is_cut,
)
from autograd_inspector.analysis.gradient_cuts.cuts_behind import cuts_behind
from autograd_inspector.analysis.gradient_cuts.decisive import decisive
from autograd_inspector.analysis.gradient_cuts.exported_values import as_arrays, left_for_good, only_left
from autograd_inspector.analysis.gradient_cuts.kept_over_runs import is_kept_over_runs, unexplained
from autograd_inspector.analysis.gradient_cuts.places import place_of
from autograd_inspector.analysis.gradient_cuts.python_scalars import as_numbers, called_on_number
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import ZeroGradCalled
from autograd_inspector.model.torch_errors import TorchError, says


def harmful_cuts(
    capture: Capture, flow: DataFlow, meant: frozenset[int], starved: frozenset[int]
) -> tuple[GradientCut, ...]:
    """All cuts that matter: those behind a backward that raised, and those that starve a parameter."""
    for run in asked_in_vain(capture):
        return _telling(capture, _behind_failure(capture, flow, run, meant))
    for run in capture.backwards:
        unused = not_in_graph(run)
        if unused:
            return _telling(capture, _starving(capture, flow, [run], unused, fatal=True))
    plain = tuple(called_on_number(capture, flow))
    if plain:
        return plain
    runs = capture.completed_runs
    missed = _found_none(capture)
    if runs and missed:
        return _telling(capture, _starving(capture, flow, runs, missed, fatal=True))
    if not runs or not starved:
        return _telling(capture, _at_once(capture, flow, runs, meant)) if not capture.steps else ()
    closest = _closest(capture, flow, runs, starved)
    rest = starved.difference(tensor for cut in closest for tensor in cut.parameters)
    hollow = [run for run in runs if not run.graph.roots]
    left = [cut for run in hollow[-1:] for cut in left_for_good(capture, flow, run, rest)] if rest else []
    left = left or [*only_left(capture, runs[-1], rest)] or [*as_numbers(capture, flow, runs[-1], rest)]
    left = left or [*as_arrays(capture, flow, runs[-1], rest)]
    return (*closest, *left)


def _at_once(
    capture: Capture, flow: DataFlow, runs: Sequence[Backward], meant: frozenset[int]
) -> Iterator[GradientCut]:
    """The cuts that end a backward where it begins: its root was detached, and then made to require grad.

    Without an optimizer nobody says what is meant to learn; but who calls backward() means something to.
    """
    for run in runs[-1:] if not meant else ():
        leaves = [root for root in run.roots if capture.tensors[root].leaf and capture.tensors[root].birth >= 0]
        if leaves and len(leaves) == len(run.roots) and set(run.reached) <= set(leaves):
            cuts = {
                cut: kept
                for cut, kept, _ in cuts_behind(capture, flow, [(root, run.start) for root in leaves])
                if kept and cut[1] in leaves
            }
            yield from group_by_cause(capture, cuts, run, fatal=False)


def _closest(
    capture: Capture, flow: DataFlow, runs: Sequence[Backward], starved: frozenset[int]
) -> tuple[GradientCut, ...]:
    """The cuts that starve, those alone that lie behind losses of the starved parameters' own optimizer.

    The discriminator's loss is detached from the generator by intention; where the generator's own loss is cut off as
    well, that is the cut to blame. Unless these explain as much, all cuts are told.
    """
    all_cuts = _telling(capture, _starving(capture, flow, runs, starved, fatal=False))
    own_runs = [run for run in runs if any(starved.intersection(held) for held in stepped_with(capture, run))]
    if not all_cuts or not own_runs or len(own_runs) == len(runs):
        return all_cuts
    fewer = _telling(capture, _starving(capture, flow, own_runs, starved, fatal=False))
    explained = {tensor for cut in all_cuts for tensor in cut.parameters}
    return fewer if explained == {tensor for cut in fewer for tensor in cut.parameters} else all_cuts


def stepped_with(capture: Capture, run: Backward) -> Iterator[tuple[int, ...]]:
    """The parameter groups of the optimizers that use what the run computed: they step next, before another run."""
    steps, runs = capture.steps, capture.backwards
    first = bisect_left(steps, run.end, key=lambda step: step.start)
    if first == len(steps):
        return
    # A step is an op: a backward at its index came before it.
    following = bisect_right(runs, steps[first].start, key=lambda other: other.start)
    end = runs[following].start if following < len(runs) else len(capture.ops)
    optimizers = {optimizer.id: optimizer for optimizer in capture.placement.optimizers}
    for step in islice(steps, first, None):
        if step.start >= end:
            return
        if step.optimizer in optimizers:
            yield from optimizers[step.optimizer].parameters


def _found_none(capture: Capture) -> frozenset[int]:
    """The leaf whose ``.grad`` the program read last, was None, and made it fail."""
    read = last_read(capture)
    if read is None or not read.leaf or not capture.tensors[read.tensor].requires_grad:
        return frozenset()
    return frozenset({read.tensor})


def not_in_graph(run: Backward) -> frozenset[int]:
    """The tensors that ``autograd.grad`` was asked for and did not find in the graph."""
    unused = says(run.error, TorchError.NOT_IN_GRAPH)
    if unused is None or run.api != "grad":
        return frozenset()
    index = int(unused[1] or -1)
    return frozenset(run.reached[index : index + 1] if index >= 0 else run.reached)


def _telling(capture: Capture, candidates: Iterable[GradientCut]) -> tuple[GradientCut, ...]:
    """Without the cuts that are there by intention wherever another cut explains the same parameters.

    A sampled index, the copy that a momentum encoder starts from and its update are cut in healthy programs too. What a
    policy did, which several updates learn from, has to be: where two cuts are intended, it is not the one to blame.
    """
    cuts = tuple(candidates)
    back = [cut for cut in cuts if is_a(cut.ops[0].name, OpKind.REWRAPS)]
    out = [c for c in cuts if c.cause == "left autograd" and is_a(c.ops[0].name, OpKind.DETACHES)]
    again = [cut for cut in out if any(set(cut.parameters) <= set(other.parameters) for other in back)]
    cuts = tuple(cut for cut in cuts if cut not in again)  # What came back says where it had left.
    return unexplained(unexplained(cuts, lambda cut: _is_kept(capture, cut)), lambda cut: _intended(capture, cut))


def _is_kept(capture: Capture, cut: GradientCut) -> bool:
    return is_kept_over_runs(capture, cut.through, cut.ops[-1].index)


def _intended(capture: Capture, cut: GradientCut) -> bool:
    if cut.cause == "non-differentiable" or _is_kept(capture, cut) or _gives_indices(capture, cut):
        return True
    first = cut.ops[0]
    if first.name == "set_data":
        return False
    if first.name == "grad" or is_a(first.name, OpKind.COPIES):
        return True
    if all(is_a(op.name, OpKind.DETACHES) and (_only_loaded(capture, op) or _copied(capture, op)) for op in cut.ops):
        return True  # state_dict() of one model, loaded into another; deepcopy() of one.
    return all(op.writes and all(capture.tensors[w.tensor].of_model for w in op.writes) for op in cut.ops)


def _gives_indices(capture: Capture, cut: GradientCut) -> bool:
    """Whether all that the cut lets through are integers, or flags: they say which, and had no gradient to lose."""
    made = [tensor for op in cut.ops for tensor in op.outputs]
    return bool(made) and not any(differentiable(capture.tensors[tensor].dtype) for tensor in made)


def _only_loaded(capture: Capture, op: Op) -> bool:
    """Whether all that an op returned was copied into the state of modules."""
    readers = [capture.ops[at] for tensor in op.outputs for at in capture.readers.get(tensor, ()) if at > op.index]
    return bool(readers) and all(
        reader.writes and all(capture.tensors[w.tensor].of_model for w in reader.writes) for reader in readers
    )


def _copied(capture: Capture, op: Op) -> bool:
    """Whether all that was done with what an op returned were copies that are the state of modules."""
    readers = [capture.ops[at] for tensor in op.outputs for at in capture.readers.get(tensor, ()) if at > op.index]
    if not readers or not all(is_a(reader.name, OpKind.COPIES) for reader in readers):
        return False
    state = {record.storage for record in capture.tensors if record.of_model}
    return all(capture.tensors[tensor].storage in state for reader in readers for tensor in reader.outputs)


def _behind_failure(capture: Capture, flow: DataFlow, run: Backward, meant: frozenset[int]) -> Iterator[GradientCut]:
    starts = [(root, run.start) for root in run.roots if not capture.tensors[root].requires_grad]
    frozen = _frozen(capture, flow, starts)
    meant = _cleared_for(capture, run, frozen) if frozen else meant
    if frozen and not meant:
        return
    cuts = _candidates(capture, flow, starts, meant)
    if frozen or any(
        meant.intersection(parameters) for parameters in cuts.values()
    ):  # A frozen teacher's cut is no loss.
        cuts = {
            cut: tuple(t for t in parameters if t in meant)
            for cut, parameters in cuts.items()
            if meant.intersection(parameters)
        }
    cuts = decisive(capture, flow, starts, cuts)
    grouped_cuts = tuple(group_by_cause(capture, cuts, run, fatal=True))
    yield from grouped_cuts or (() if _in_torch(capture, flow, starts) else left_for_good(capture, flow, run, None))


def _candidates(
    capture: Capture, flow: DataFlow, starts: list[tuple[int, int]], meant: frozenset[int]
) -> dict[Cut, tuple[int, ...]]:
    """The cuts behind a failure, with what they keep gradient from: of the first kind of ways that leads to what is meant.

    At first those that gradient could come back on; then by indices too; then by what state was made of as well.
    """

    def carried(op: Op, tensor: int) -> bool:
        return _goes_on(capture, op, tensor) and carries(capture, op, tensor)

    def any_way(op: Op, tensor: int) -> bool:
        return _goes_on(capture, op, tensor)

    def ends(tensor: int) -> bool:
        return is_state(capture, tensor)

    first: dict[Cut, tuple[int, ...]] = {}
    for through, end in ((carried, ends), (any_way, ends), (any_way, None)):
        behind = cuts_behind(capture, flow, starts, through, end)
        cuts = {cut: kept for cut, kept, above in behind if kept or (end is None and not above)}
        if any(meant.intersection(kept) for kept in cuts.values()):
            return cuts
        first = first or cuts
    return first


def _goes_on(capture: Capture, op: Op, through: int) -> bool:
    """Behind a cut nothing matters, but every op of a no_grad block is one: the whole block is to be told."""
    return not is_cut(capture, op, through) or cause_of(capture, op, through) in {"no_grad", "inference_mode"}


def _frozen(capture: Capture, flow: DataFlow, starts: list[tuple[int, int]]) -> frozenset[int]:
    """The parameters of optimizers that lead here uncut and are frozen: they are what ails the loss, as a rule."""
    return frozenset(
        tensor
        for op, _ in flow.upstream(starts, lambda op, tensor: not is_cut(capture, op, tensor))
        if not op.has(Trait.CUT)
        for tensor in op.inputs
        if tensor in capture.optimized and not capture.tensors[tensor].requires_grad
    )


def _cleared_for(capture: Capture, run: Backward, frozen: frozenset[int]) -> frozenset[int]:
    """What the loss is to train, by the gradients that were cleared for it; none where that is what is frozen.

    The generator's loss goes through a discriminator that is frozen for it, and that another optimizer has.
    """
    since = max(
        (other.end for other in capture.backwards if other.end <= run.start and other.index != run.index), default=0
    )
    cleared = {e.optimizer for e in capture.events_of(ZeroGradCalled) if since <= e.at <= run.start}
    held = frozenset(t for o in capture.placement.optimizers if o.id in cleared for t in o.held)
    return frozenset(t for t in held if capture.tensors[t].requires_grad) if held.isdisjoint(frozen) else frozenset()


def _in_torch(capture: Capture, flow: DataFlow, starts: list[tuple[int, int]]) -> bool:
    """Whether values of parameters, also of frozen ones, lead here without having left torch."""
    return any(capture.tensors[tensor].kind == "parameter" for op, _ in flow.upstream(starts) for tensor in op.inputs)


def _starving(
    capture: Capture, flow: DataFlow, runs: Sequence[Backward], starved: frozenset[int], *, fatal: bool
) -> Iterator[GradientCut]:
    starts = [(root, run.start) for run in runs for root in run.roots]
    cuts: dict[Cut, tuple[int, ...]] = {}
    ways = (
        cuts_behind(capture, flow, starts, lambda op, t: carries(capture, op, t), lambda t: is_state(capture, t)),
        cuts_behind(capture, flow, starts),
    )
    for way in ways:
        left = starved.difference(*cuts.values())
        for cut, kept, _ in way if left else ():
            lost = tuple(t for t in kept if t in left)
            if lost:
                cuts[cut] = lost
    yield from group_by_cause(capture, cuts, runs[-1], fatal=fatal)


def carries(capture: Capture, op: Op, tensor: int) -> bool:
    """Whether gradient could come back through a value at all.

    Not through an index, a plain number, a tensor made of such, or one that was filled without gradients (a rollout's).
    """
    if not differentiable(capture.tensors[tensor].dtype) or op.has(Trait.EXPORT):
        return False
    if is_a(op.name, OpKind.REWRAPS):
        return any(capture.tensors[read].requires_grad for read in op.inputs)
    return not op.writes or capture.regions[op.region].kind == "enabled"


def is_state(capture: Capture, tensor: int) -> bool:
    """Whether whoever reads it looks for no gradient in what was written to it: a moving average of other weights."""
    return capture.tensors[tensor].of_model


def group_by_cause(
    capture: Capture, cuts: dict[Cut, tuple[int, ...]], run: Backward, *, fatal: bool
) -> Iterator[GradientCut]:
    """One record for each cause and place: a line in a loop, or a block entered again and again, is one."""
    groups: dict[tuple[Cause, tuple[str, int]], list[Cut]] = {}
    for op, through in cuts:
        cause = cause_of(capture, op, through)
        groups.setdefault((cause, place_of(capture, op, cause)), []).append((op, through))
    for (cause, _), members in groups.items():
        members.sort(key=lambda member: member[0].index)
        lost = dict.fromkeys(tensor for member in members for tensor in cuts[member])
        ops, ends = tuple(op for op, _ in members), tuple(tensor for _, tensor in members)
        yield GradientCut(cause, ops, ends, tuple(lost), run, fatal)
