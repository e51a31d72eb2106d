"""AG202: a tensor that backward needs was modified and no version counter moved."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.inplace_fixes import needs_because, repair
from autograd_inspector.advice.remedies.in_place import kept_apart
from autograd_inspector.advice.saved_tensors import place_of, saved_name, saver_name
from autograd_inspector.advice.spelling import copy_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.assigned_data import effective
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.saved_tensors import Saved, counter_of, made_at, on_ctx
from autograd_inspector.analysis.unseen_edits.looked_at import LookedAt
from autograd_inspector.analysis.unseen_edits.slices import inside_slices
from autograd_inspector.analysis.unseen_edits.standing import Edit, Edits
from autograd_inspector.model.autograd import Backward, Node, SavedTensor
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location, dedupe_locations, with_role
from autograd_inspector.model.op import Op, Trait, Write
from autograd_inspector.model.wording import agree, join_names, summarize_names
from autograd_inspector.rules.ag202_unseen_edit.arrays import Arrays
from autograd_inspector.rules.ag202_unseen_edit.ctx_attributes import ctx_edits
from autograd_inspector.rules.ag202_unseen_edit.packed import packed_edits
from autograd_inspector.rules.ag202_unseen_edit.recompute import recompute_edits
from autograd_inspector.rules.ag202_unseen_edit.recompute_differs import recomputed_otherwise
from autograd_inspector.rules.ag202_unseen_edit.recompute_elsewhere import recomputed_elsewhere
from autograd_inspector.rules.ag202_unseen_edit.recompute_parted import recomputed_unlike
from autograd_inspector.rules.ag202_unseen_edit.recompute_random import drawn_again
from autograd_inspector.rules.ag202_unseen_edit.recompute_statistics import statistics_twice
from autograd_inspector.rules.ag202_unseen_edit.recompute_twice import edited_twice
from autograd_inspector.rules.ag202_unseen_edit.sent_buffers import sent_buffers
from autograd_inspector.rules.ag202_unseen_edit.summed_over import summed_over

Member = tuple[Saved, Op, Write]

_SHOWN = 2
"""Of results without a name, and of those who saved several tensors, so many are told in a sentence."""


def check(analysis: Analysis) -> Iterator[Problem]:
    """A tensor that backward needs was modified and no version counter moved: the gradients are silently wrong.

    Why it matters
        Writes through `.data`, a NumPy alias, a fused optimizer step or a batch norm's running statistics do not bump
        the counter that autograd checks. Recomputation under checkpointing reads the current values, and draws
        different random numbers with `preserve_rng_state=False`. Nothing raises, and the gradient belongs to different
        values than the loss.

    Example
        ::

            hidden = net(x)
            loss = hidden.pow(2).mean()
            hidden.data.div_(2.0)
            loss.backward()

    Fix
        ::

            hidden = net(x)
            loss = hidden.pow(2).mean()
            halved = hidden / 2.0
            loss.backward()

    References
        torch.Tensor.data in "Autograd mechanics"; torch.utils.checkpoint.
    """
    seen: set[int] = set()
    edits = Edits(analysis)
    looked_at = LookedAt(analysis)
    arrays = Arrays(analysis)
    for place, run in enumerate(analysis.run_graphs.runs):
        new, edited = looked_at.nodes(place, seen)
        nodes = [*edited, *new]
        if edited and _tells(analysis, edits, run, nodes, seen):
            nodes = analysis.run_graphs.whole(place)  # In the order in which a walk meets them.
        nodes = [node for node in nodes if node.index not in analysis.behind_none]
        for report, groups in zip((_unseen, _doubtful), _grouped(analysis, edits, run, nodes), strict=True):
            for site, members in groups.items():
                if site not in seen:
                    seen.add(site)
                    yield report(analysis, run, members)
        yield from arrays.edits(place, seen)
        yield from ctx_edits(analysis, edits, run, nodes, seen)
    yield from recompute_edits(analysis, edits)
    yield from edited_twice(analysis)
    yield from statistics_twice(analysis)
    yield from drawn_again(analysis)
    yield from recomputed_otherwise(analysis)
    yield from recomputed_elsewhere(analysis)
    yield from recomputed_unlike(analysis)
    yield from packed_edits(analysis, seen)
    yield from sent_buffers(analysis)
    yield from summed_over(analysis)


def _tells(analysis: Analysis, edits: Edits, run: Backward, nodes: list[Node], seen: set[int]) -> bool:
    """Whether there is something to say of those nodes that was not said yet."""
    sites = (site for groups in _grouped(analysis, edits, run, nodes) for site in groups)
    return any(site not in seen for site in sites) or any(ctx_edits(analysis, edits, run, nodes, set(seen)))


def _grouped(
    analysis: Analysis, edits: Edits, run: Backward, nodes: list[Node]
) -> tuple[dict[int, list[Member]], dict[int, list[Member]]]:
    """Saved tensors with the edits that certainly stand, and with those that something seems to have taken back.

    By the site of the edit, or of the first of several that belong together.
    """
    certain: dict[int, list[Member]] = {}
    doubtful: dict[int, list[Member]] = {}
    for node in nodes:
        for saved in (*node.saved, *inside_slices(analysis, node)):
            if saved.status == "valid" and not saved.unused and not on_ctx(saved):
                stands, may_stand = _unseen_writes(analysis, edits, run, node, saved)
                for edit in stands:
                    certain.setdefault(edit[0].site, []).append(((node, saved), *edit))
                if may_stand:
                    doubtful.setdefault(may_stand[0][0].site, []).extend(((node, saved), *e) for e in may_stand)
    return certain, doubtful


def _unseen_writes(
    analysis: Analysis, edits: Edits, run: Backward, node: Node, saved: SavedTensor
) -> tuple[list[Edit], list[Edit]]:
    """What modified the saved tensor unseen: what certainly stands, and what something seems to have taken back."""
    # The op that saved it may have modified it as well: in `x *= x.data` the saved alias changes unseen.
    start = node.op if node.op >= 0 else made_at(node)
    standing = edits.standing(saved.storage, saved.tensor, start, run.start)
    if not standing.certain and not standing.doubtful:
        return [], []
    certain = effective(analysis, saved.tensor, standing.certain, run.start)
    return (
        [edit for edit in certain if _unseen_by(analysis, node, saved, edit)],
        [edit for edit in standing.doubtful if _unseen_by(analysis, node, saved, edit)],
    )


def _unseen_by(analysis: Analysis, node: Node, saved: SavedTensor, edit: Edit) -> bool:
    op, write = edit
    target = analysis.capture.tensors[write.tensor]
    apart = target.counter != counter_of(analysis, saved) or (write.unseen and op.index != node.op)
    touches = write.storage != saved.storage or (
        target.storage != saved.storage
        or (target.offset < saved.offset + saved.extent and saved.offset < target.offset + target.extent)
    )
    return apart and touches and not op.has(Trait.COLLECTIVE)


def _unseen(analysis: Analysis, run: Backward, members: list[Member]) -> Problem:
    (node, saved), op, write = members[0]
    name = saved_name(analysis, node, saved)
    how = _how(analysis, op, write)
    names = [saved_name(analysis, n, s) for (n, s), _, _ in members]
    return Problem(
        "error",
        f"{_were_saved(analysis, members, names)} and then modified by {how}: no version counter moved, so the gradients "
        "are silently wrong",
        repair(analysis, [op], name),
        _places(analysis, run, members[0], "backward used the new values here"),
        tuple(names),
        (
            f"{saver_name(analysis, node)} saved {name}: {needs_because(saved.name)}.",
            f"{how} changed its memory afterwards{place_of(analysis, op)}; certain, by the order of the calls.",
        ),
        (op.index,),
        tuple(kept_apart(analysis, list({op.index: op for _, op, _ in members}.values()), run)),
    )


def _doubtful(analysis: Analysis, run: Backward, members: list[Member]) -> Problem:
    (node, saved), op, _ = members[0]
    name = saved_name(analysis, node, saved)
    names = [saved_name(analysis, n, s) for (n, s), _, _ in members]
    ops = list(dict.fromkeys(f"`{op.name}`" for _, op, _ in members))
    return Problem(
        "info",
        f"{_were_saved(analysis, members, names)}, then modified by {join_names(ops)} and likely restored, except for rounding: no version counter moved, and no value was read",
        f"To be sure, keep {copy_of(analysis, name)} and restore it with `copy_()`.",
        _places(analysis, run, members[0], "backward used the memory here"),
        tuple(names),
        (f"{saver_name(analysis, node)} saved {name}: {needs_because(saved.name)}.",),
        (op.index,),
    )


def _were_saved(analysis: Analysis, members: list[Member], names: list[str]) -> str:
    """What was saved, and by what: the module of the saver is told where there is one of them."""
    savers = list(dict.fromkeys(saver_name(analysis, node) for (node, _), _, _ in members))
    ops = (node.op for (node, _), _, _ in members if node.op >= 0)
    by = savers if len(savers) == 1 else [f"`{analysis.capture.ops[op].name}`" for op in ops]
    # Parameters are told by their module, what has no name by the op that made it.
    all_stored = all(saved.storage in analysis.capture.stored for (_, saved), _, _ in members)
    several = summarize_names(names) if all_stored else join_names(names, _SHOWN)
    was = agree(set(names), "was", "were")
    return f"{several} {was} saved for backward" + (f" by {join_names(by, _SHOWN)}" if by else "")


def _places(analysis: Analysis, run: Backward, member: Member, role: str) -> tuple[Location, ...]:
    (node, _), op, write = member
    alias = analysis.flow.birth(write.tensor)
    aliased = analysis.user_frames(alias.site, "alias made here") if alias is not None and alias.name == "data" else ()
    saver = analysis.user_frames(analysis.capture.ops[node.op].site, "saved here") if node.op >= 0 else ()
    return dedupe_locations([*_modifying(analysis, op, node), *aliased, *saver, *analysis.user_frames(run.site, role)])


def _modifying(analysis: Analysis, op: Op, node: Node) -> tuple[Location, ...]:
    """Where it was modified: when the same line saved it (`self.bn(x)` in a forward), first who called that again."""
    frames = analysis.user_frames(op.site, "modified here")
    if node.op >= 0:
        saved = {frame.line for frame in analysis.user_frames(analysis.capture.ops[node.op].site, "")}
        again = next((i for i, frame in enumerate(frames) if frame.line not in saved), 0)
        if again > 0:
            shared = [with_role(frame, "called from there") for frame in frames[:again]]
            return (with_role(frames[again], "modified here"), *shared, *frames[again + 1 :])
    return frames


def _how(analysis: Analysis, op: Op, write: Write) -> str:
    if op.has(Trait.STEP):
        return f"`{op.name}()` (a fused step bumps no version counter)"
    if is_a(op.name, OpKind.KEEPS_STATISTICS):
        return f"`{op.name}` in training mode (it updates running_mean and running_var without a version bump)"
    if op.name == "set_data":
        return "an assignment to `.data`"
    if analysis.capture.tensors[write.tensor].counter < -1:
        return f"`{op.name}` through `.data`"
    return f"`{op.name}`"
