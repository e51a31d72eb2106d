"""AG201 and AG202: a tensor that autograd saved was modified before backward needed it."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.autograd import Backward, Node, SavedTensor
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op, Trait, Write
from autograd_inspector.rules.advice import needs_because, repair
from autograd_inspector.rules.catalogue import Facts, folded, joined, rule, unique
from autograd_inspector.rules.recompute import recompute_edits
from autograd_inspector.rules.unsaved import hidden_saver

VERSION_ERROR = "has been modified by an inplace operation"
Saved = tuple[Node, SavedTensor]


@rule("AG201", "saved-tensor-modified")
def saved_tensor_modified(facts: Facts) -> Iterator[Finding]:
    """A tensor saved for backward was modified in place afterwards, and its version counter moved.

    Why it matters
        Backward would compute with the new values. Autograd compares versions and raises "modified by an inplace
        operation", naming a shape but neither who saved the tensor nor who modified it.

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
    for run in facts.capture.backwards:
        raised = VERSION_ERROR in run.error
        if not raised and run.api != "alive":
            continue
        inner = any(r.nested_in == run.index and VERSION_ERROR in r.error for r in facts.capture.backwards)
        groups: dict[tuple[int, ...], list[tuple[Saved, list[tuple[Op, Write]]]]] = {}
        for node in sorted(run.graph.nodes, key=lambda n: not n.failed):
            for saved in node.saved:
                if saved.status == "modified":
                    culprits = _bumps(facts, run, node, saved)
                    groups.setdefault(tuple(dict.fromkeys(op.site for op, _ in culprits)), []).append(
                        ((node, saved), culprits)
                    )
        if not groups and raised and not inner:
            yield from hidden_saver(facts, run)
        if groups and not inner:
            yield from (_modified(facts, run, members) for members in list(groups.values())[:8])


@rule("AG202", "unseen-edit")
def unseen_edit(facts: Facts) -> Iterator[Finding]:
    """A tensor that backward needs was modified and no version counter moved: the gradients are silently wrong.

    Why it matters
        Writes through `.data`, a NumPy alias, a fused optimizer step or a batch norm's running statistics do not bump
        the counter that autograd checks, and recomputation under checkpointing reads whatever is there by then.
        Nothing raises; the gradient belongs to other values than the loss.

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
    for run in facts.capture.backwards:
        if run.error or run.api == "alive":
            continue
        groups: dict[int, list[tuple[Saved, Op, Write]]] = {}
        for node in run.graph.nodes:
            for saved in node.saved:
                if saved.status == "valid" and not saved.unused:
                    for op, write in _unseen_writes(facts, run, node, saved):
                        groups.setdefault(op.site, []).append(((node, saved), op, write))
        for site, members in groups.items():
            if site not in seen:
                seen.add(site)
                yield _unseen(facts, run, members)
        yield from _numpy_edits(facts, run, seen)
    yield from recompute_edits(facts)


def _made_at(node: Node) -> int:
    """The first op index at which the node's saved tensors were already saved."""
    return node.op + 1 if node.op >= 0 else max(node.position, 0)


def _bumps(facts: Facts, run: Backward, node: Node, saved: SavedTensor) -> list[tuple[Op, Write]]:
    """The in-place ops that moved the saved tensor's counter after it was saved, in order."""
    capture = facts.capture
    found = []
    for op in capture.ops[_made_at(node) : run.end]:
        for write in op.writes:
            if write.storage != saved.storage or write.unseen:
                continue
            if saved.saved_version is not None and write.after <= saved.saved_version:
                continue
            if capture.tensors[write.tensor].counter == capture.tensors[write.tensor].storage == saved.storage:
                found.append((op, write))
                break
    return found


def _modified(facts: Facts, run: Backward, members: list[tuple[Saved, list[tuple[Op, Write]]]]) -> Finding:
    (node, saved), culprits = members[0]
    name = saved_name(facts, node, saved)
    saver = saver_name(facts, node)
    now, then = saved.current_version, saved.saved_version
    edits = [facts.capture.ops[op.index] for op, _ in culprits]
    shown = _places(facts, node, edits, run)
    spelled = joined((f"`{edit_name(facts, op)}`" for op in edits), 3) if edits else "code that no torch call shows"
    details = [f"{saver} saved {name} at version {then}: {needs_because(saved.name)}."]
    details += [
        f"`{edit_name(facts, op)}` moved it from version {write.before} to {write.after}"
        f"{_through(facts, write, saved)}{_where(facts, op)}."
        for op, write in culprits[:12]
    ]
    details.append(f"Backward found version {now} and expected {then}.")
    others = [saved_name(facts, n, s) for (n, s), _ in members[1:]]
    aliases = dict.fromkeys(_through(facts, write, saved) for _, write in culprits)
    return Finding(
        "AG201",
        "saved-tensor-modified",
        "error",
        f"{name} was saved for backward by {saver} at version {then} and then modified in place by {spelled}"
        f"{next(filter(None, aliases), '')}: "
        f"it is at version {now}, expected version {then}",
        repair(facts, edits, name),
        shown,
        tuple(dict.fromkeys([name, *others, *(edit_name(facts, op) for op in edits[:4])])),
        tuple(details),
        tuple(op.index for op in edits[:64]),
    )


def _through(facts: Facts, write: Write, saved: SavedTensor) -> str:
    """How the write reached the saved tensor when it was made through an alias."""
    made = facts.flow.birth(write.tensor)
    if write.tensor == saved.tensor or made is None or made.name not in _ALIASING:
        return ""
    return f" through an alias made by `{made.name}`"


_ALIASING = set(
    "detach view reshape expand expand_as T mT transpose permute squeeze unsqueeze chunk split unbind narrow select "
    "diagonal __getitem__ flatten as_strided movedim swapaxes real imag data".split()
)


def _where(facts: Facts, op: Op) -> str:
    place = facts.capture.place(op.site)
    inside = " while backward recomputed a checkpoint" if op.has(Trait.BACKWARD) else ""
    return f"{inside} ({place.place})" if place is not None else inside


def _places(facts: Facts, node: Node, edits: list[Op], run: Backward) -> tuple[Location, ...]:
    culprits = [place for op in edits[:16] for place in facts.chain(op.site, "modified here")]
    modules = [
        place
        for op in edits[:4]
        if op.call >= 0 and facts.capture.calls[op.call].inplace
        for place in facts.chain(facts.capture.calls[op.call].site, "in-place module called here")
    ]
    saver = facts.chain(facts.capture.ops[node.op].site, "saved here") if node.op >= 0 else ()
    return unique([*culprits, *modules, *saver, *facts.chain(run.site, "needed here")])


def edit_name(facts: Facts, op: Op) -> str:
    """The modifying op, with the module or the custom Function that ran it."""
    if op.has(Trait.INNER):
        outer = next((o for o in facts.capture.ops[op.index + 1 :] if o.has(Trait.FUNCTION)), None)
        if outer is not None:
            return f"{op.name} in {outer.name.removesuffix('.apply')}.forward"
    if op.call >= 0 and facts.capture.calls[op.call].inplace:
        call = facts.capture.calls[op.call]
        return f"{op.name} of '{call.path or call.type}' (nn.{call.type}, inplace=True)"
    return op.name


def saver_name(facts: Facts, node: Node) -> str:
    """The op and node that saved, with the module it ran in."""
    short = node.name.rsplit("::", 1)[-1]
    if node.op < 0:
        return short
    op = facts.capture.ops[node.op]
    call = facts.capture.calls[op.call] if op.call >= 0 else None
    within = f" in '{call.path}'" if call is not None and call.path else ""
    return f"`{op.name}` ({short}){within}"


def saved_name(facts: Facts, node: Node, saved: SavedTensor) -> str:
    """The saved tensor's name: its own, that of its memory, else what the node calls it."""
    if saved.tensor >= 0 and (facts.capture.tensors[saved.tensor].names or facts.capture.tensors[saved.tensor].variable):
        return facts.capture.tensors[saved.tensor].name
    return facts.storage_name(saved.storage) or f"the {saved.name} {list(saved.shape)} of {saver_name(facts, node)}"


def _unseen_writes(facts: Facts, run: Backward, node: Node, saved: SavedTensor) -> Iterator[tuple[Op, Write]]:
    tensors = facts.capture.tensors
    for op, write in facts.writes_to(saved.storage, saved.tensor, _made_at(node), run.start):
        target = tensors[write.tensor]
        apart = target.counter != saved.storage or write.unseen
        touches = write.storage != saved.storage or (
            target.storage != saved.storage
            or (target.offset < saved.offset + saved.extent and saved.offset < target.offset + target.extent)
        )
        if apart and touches and not op.has(Trait.COLLECTIVE):
            yield op, write


def _unseen(facts: Facts, run: Backward, members: list[tuple[Saved, Op, Write]]) -> Finding:
    (node, saved), op, write = members[0]
    name = saved_name(facts, node, saved)
    how = _how(facts, op, write)
    names = [saved_name(facts, n, s) for (n, s), _, _ in members]
    alias = facts.flow.birth(write.tensor)
    aliased = facts.chain(alias.site, "alias made here") if alias is not None and alias.name == "data" else ()
    saver = facts.chain(facts.capture.ops[node.op].site, "saved here") if node.op >= 0 else ()
    return Finding(
        "AG202",
        "unseen-edit",
        "error",
        f"{folded(names)} was saved for backward by {saver_name(facts, node)} and then modified by {how}: no version "
        "counter moved, so the gradients are silently wrong",
        repair(facts, [op], name),
        unique([
            *facts.chain(op.site, "modified here"),
            *aliased,
            *saver,
            *facts.chain(run.site, "backward used the new values here"),
        ]),
        tuple(dict.fromkeys(names)),
        (
            f"{saver_name(facts, node)} saved {name}: {needs_because(saved.name)}.",
            f"{how} changed its memory afterwards{_where(facts, op)}; certain, by the order of the calls.",
        ),
        (op.index,),
    )


def _how(facts: Facts, op: Op, write: Write) -> str:
    if op.has(Trait.STEP):
        return f"`{op.name}()` (a fused step bumps no version counter)"
    if op.name in {"batch_norm", "instance_norm", "native_batch_norm"}:
        return f"`{op.name}` in training mode (it updates running_mean and running_var without a version bump)"
    if op.name == "set_data":
        return "an assignment to `.data`"
    if facts.capture.tensors[write.tensor].counter < -1:
        return f"`{op.name}` through `.data`"
    return f"`{op.name}`"


def _numpy_edits(facts: Facts, run: Backward, seen: set[int]) -> Iterator[Finding]:
    """A NumPy alias of a saved tensor that the source writes to: likely, for NumPy's writes cannot be observed."""
    for alias in facts.capture.alias_writes:
        op = facts.capture.ops[alias.op]
        tensor = facts.capture.tensors[op.inputs[0]]
        hit = next(
            (
                (node, saved)
                for node in run.graph.nodes
                for saved in node.saved
                if saved.storage == tensor.storage >= 0
                and saved.status == "valid"
                and not saved.unused
                and _made_at(node) <= alias.op < run.start
            ),
            None,
        )
        if hit is None or alias.site in seen:
            continue
        seen.add(alias.site)
        name = saved_name(facts, *hit)
        yield Finding(
            "AG202",
            "unseen-edit",
            "warning",
            f"{name} was saved for backward by {saver_name(facts, hit[0])} and its memory is written through NumPy "
            f"(`{alias.how}`): no version counter moves, so the gradients are likely wrong",
            f"Work on a copy: `{name}.detach().numpy().copy()`, or an out-of-place NumPy call.",
            unique([
                *facts.chain(alias.site, "written through NumPy here"),
                *facts.chain(op.site, "NumPy alias made here"),
                *facts.chain(run.site, "backward used the memory here"),
            ]),
            (name,),
            ("Likely, from the source: NumPy's own writes cannot be observed.",),
            (alias.op,),
        )
