"""AG201: a tensor that autograd saved was modified before backward needed it, and its version counter moved."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.copies import saves_its_result
from autograd_inspector.advice.inplace_fixes import needs_because, repair
from autograd_inspector.advice.older_graphs import edited_before, recompute_advice
from autograd_inspector.advice.remedies.in_place import kept_apart
from autograd_inspector.advice.remedies.meeting import meeting
from autograd_inspector.advice.saved_tensors import edit_name, place_of, saved_name, saver_name
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.compiled_code import saver_inside
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.saved_tensors import Saved, counter_of, made_at, recomputes
from autograd_inspector.model.autograd import Backward, Node, SavedTensor
from autograd_inspector.model.finding import Problem, Severity
from autograd_inspector.model.location import Location, dedupe_locations
from autograd_inspector.model.op import Op, Trait, Write
from autograd_inspector.model.remedy import Again, Remedies
from autograd_inspector.model.torch_errors import TorchError, says
from autograd_inspector.model.wording import join_names
from autograd_inspector.rules.ag201_saved_tensor_modified.detached_in_place import detached_in_place
from autograd_inspector.rules.ag201_saved_tensor_modified.earlier_round import earlier_round
from autograd_inspector.rules.ag201_saved_tensor_modified.kept_gradient import kept_gradient
from autograd_inspector.rules.ag201_saved_tensor_modified.saved_by_hook import hidden_saver
from autograd_inspector.rules.ag201_saved_tensor_modified.taken_views import copied, taken_as_view


def check(analysis: Analysis) -> Iterator[Problem]:
    """A tensor saved for backward was modified in place afterwards, and its version counter moved.

    Why it matters
        Backward would compute with the new values. Autograd compares versions and raises "modified by an inplace
        operation", but the message names only a shape, not the op that saved the tensor or the line that modified it.
        If a hidden state is carried across iterations without detach() (and with retain_graph=True), backward reaches
        weights that were updated in between.

    Example
        ::

            hidden = torch.sigmoid(net(x))
            loss = hidden.pow(2).mean()
            hidden.add_(1.0)
            loss.backward()

    Fix
        ::

            hidden = torch.sigmoid(net(x))
            loss = hidden.pow(2).mean()
            hidden = hidden + 1.0
            loss.backward()

    References
        "In-place correctness checks" in the autograd notes of the PyTorch documentation.
    """
    yield from detached_in_place(analysis)
    outer = {r.nested_in for r in analysis.capture.backwards if says(r.error, TorchError.MODIFIED_IN_PLACE)}
    for run in analysis.capture.backwards:
        raised = says(run.error, TorchError.MODIFIED_IN_PLACE) is not None
        if not raised and run.api != "alive":
            continue
        inner = run.index in outer
        groups: dict[tuple[str, ...], list[tuple[Saved, list[tuple[Op, Write]]]]] = {}
        for outer_node in sorted(analysis.nodes_of(run), key=lambda n: not n.failed):
            for saved in outer_node.saved:
                if saved.status == "modified":
                    node = saver_inside(analysis.capture, outer_node, saved)
                    culprits = _bumps(analysis, run, node, saved)
                    if run.api == "alive" and not culprits and analysis.capture.ops:
                        continue  # Edited before the capture, in which nobody asks for its gradient.
                    places = (analysis.capture.place(op.site) for op, _ in culprits)
                    lines = dict.fromkeys(f"{place.filename}:{place.lineno}" for place in places if place)
                    groups.setdefault(tuple(lines), []).append(((node, saved), culprits))
        if not groups and raised and not inner:
            yield from hidden_saver(analysis, run)
        if groups and not inner:
            yield from (_modified(analysis, run, members) for members in list(groups.values())[:8])


def _bumps(analysis: Analysis, run: Backward, node: Node, saved: SavedTensor) -> list[tuple[Op, Write]]:
    """The in-place ops that moved the saved tensor's counter after it was saved, in order."""
    capture = analysis.capture
    bumps: list[tuple[Op, Write]] = []
    # The op that saved it may have modified it as well: in `x *= x` the saved factor is the one before.
    start = node.op if node.op >= 0 and saved.saved_version is not None else made_at(node)
    counter = counter_of(analysis, saved)
    for op, write in analysis.writes_in(saved.storage, start, run.end):
        if write.unseen or (saved.saved_version is not None and write.after <= saved.saved_version):
            continue
        if capture.tensors[write.tensor].counter == counter and not (bumps and bumps[-1][0] is op):
            bumps.append((op, write))
    return bumps


def _modified(analysis: Analysis, run: Backward, members: list[tuple[Saved, list[tuple[Op, Write]]]]) -> Problem:
    (node, saved), culprits = members[0]
    name = saved_name(analysis, node, saved, culprits)
    saver = saver_name(analysis, node)
    now, then = saved.current_version, saved.saved_version
    edits = [analysis.capture.ops[op.index] for op, _ in culprits]
    back = earlier_round(analysis, run, node, edits) if run.error and edits else None
    back = back or kept_gradient(analysis, saved, node.op, name)
    shown = _places(analysis, node, saved, edits, run)
    if back is not None:
        shown = dedupe_locations([*back.places, *shown])
    before = edited_before(node, saved, [write for _, write in culprits])
    if edits:
        spelled = "by " + join_names((edit_name(analysis, op) for op in edits), 3)
    else:
        spelled = "before this capture began" if before else "by code that makes no torch call"
    if edits and before:
        spelled = f"before this capture began and {spelled}"
    if run.nested_in >= 0 and any(op.has(Trait.BACKWARD) for op in edits) and recomputes(analysis):
        spelled += " as checkpoint(use_reentrant=True) recomputed it in backward"
    details = [f"{saver} saved {name} at version {then}: {needs_because(saved.name)}."]
    if before:
        entry = culprits[0][1].before if culprits else now
        details.append(f"When this capture began, {name} was already at version {entry}: an earlier cell modified it.")
    if len(culprits) > 1:  # else the message says it
        details += [
            f"{edit_name(analysis, op)} moved it from version {write.before} to {write.after}"
            f"{_through(analysis, write, saved)}{place_of(analysis, op)}."
            for op, write in culprits[:12]
        ]
    others = [saved_name(analysis, n, s) for (n, s), _ in members[1:]]
    aliases = dict.fromkeys(_through(analysis, write, saved) for _, write in culprits)
    return Problem(
        _severity(analysis, run, [kept for (_, kept), _ in members]),
        f"{name} was saved for backward by {saver} at version {then} and then modified in place {spelled}"
        f"{next(filter(None, aliases), '')}: "
        f"it is at version {now}, expected version {then}{back.why if back is not None else ''}",
        back.fix
        if back is not None
        else recompute_advice(analysis, run, name)
        if before
        else repair(analysis, edits, name, _reader(analysis, node, saved)),
        shown,
        (name, *others, *(edit_name(analysis, op).replace("`", "") for op in edits[:4])),
        tuple(details),
        (*(op.index for op in edits[:64]), *([node.op] if node.op >= 0 else [])),
        (*copied(analysis, saved, edits), *kept_apart(analysis, edits, run, _reader(analysis, node, saved), name))
        if back is None and not before
        else (*(back.cures if back is not None else ()), *_recomputed(analysis, run, edits)),
        any(op.call >= 0 and analysis.capture.calls[op.call].inplace for op in edits),
    )


def _recomputed(analysis: Analysis, run: Backward, steps: list[Op]) -> Iterator[Remedies]:
    """What was computed before a step, and is read behind it, is computed again with the new weights."""
    last = max((op.index for op in steps if op.has(Trait.STEP)), default=-1)
    above = (op for op, _ in analysis.flow.upstream([(root, run.start) for root in run.roots]))
    readers = sorted((op for op in above if op.index > last >= 0 and op.recorded), key=lambda op: op.index)
    for reader in readers:
        for tensor in reader.inputs:
            made = analysis.flow.birth(tensor)
            if (
                made is not None
                and made.recorded
                and made.index < last
                and analysis.capture.tensors[tensor].requires_grad
            ):
                pair = meeting(analysis, made.site, reader.site)
                if pair is not None and pair[0].lineno < pair[1].lineno and pair[0].assigned:
                    yield (Again(*pair),)
                return


def _reader(analysis: Analysis, node: Node, saved: SavedTensor) -> Op | None:
    """The op that saved what it read, to which a copy can be given."""
    return analysis.capture.ops[node.op] if node.op >= 0 and not saves_its_result(saved.name) else None


def _severity(analysis: Analysis, run: Backward, kept: list[SavedTensor]) -> Severity:
    """A graph that no backward has asked for may be of no more use: predictions post-processed, weights reloaded.

    A scalar that is still alive and depends on a modified activation is a loss that would raise.
    """
    tensors = analysis.capture.tensors
    if run.api != "alive" or not analysis.capture.ops:
        return "error"
    scalar = any(tensors[root].shape == () for root in run.roots)
    state = all(any(t.storage == saved.storage >= 0 and t.of_model for t in tensors) for saved in kept)
    return "error" if scalar and not state else "info"


def _through(analysis: Analysis, write: Write, saved: SavedTensor) -> str:
    """How the write reached the saved tensor when it was made through an alias."""
    made = analysis.flow.birth(write.tensor)
    if write.tensor == saved.tensor or made is None or not is_a(made.name, OpKind.VIEWS):
        return ""
    return f" through an alias made by `{made.name}`"


def _places(analysis: Analysis, node: Node, saved: SavedTensor, edits: list[Op], run: Backward) -> tuple[Location, ...]:
    culprits = [place for op in edits[:16] for place in analysis.user_frames(op.site, "modified here")]
    modules = [
        place
        for op in edits[:4]
        if op.call >= 0 and analysis.capture.calls[op.call].inplace
        for place in analysis.user_frames(analysis.capture.calls[op.call].site, "in-place module called here")
    ]
    saver = analysis.user_frames(analysis.capture.ops[node.op].site, "saved here") if node.op >= 0 else ()
    view = taken_as_view(analysis, saved, edits)
    taken = analysis.user_frames(view.site, "taken as a view of it here") if view is not None else ()
    return dedupe_locations([*culprits, *modules, *saver, *taken, *analysis.user_frames(run.site, "needed here")])
