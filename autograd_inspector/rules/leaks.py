"""AG502: graphs of earlier steps that something keeps alive."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Kept
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.rules.catalogue import Facts, rule, unique

_LINKS = 2
"""So many links of a chain in folded steps show that it goes on from step to step."""


@rule("AG502", "graph-leak")
def graph_leak(facts: Facts) -> Iterator[Finding]:
    """Graphs of earlier steps are kept alive: a running sum, a list, an attribute.

    Why it matters
        `total += loss` chains every step's graph to the next one's. Memory grows with each iteration, and nothing is
        wrong with the training itself.

    Example
        ::

            total = 0.0
            for _ in range(4):
                optimizer.zero_grad()
                loss = net(x).pow(2).mean()
                loss.backward()
                optimizer.step()
                total += loss

    Fix
        ::

            total = 0.0
            for _ in range(4):
                optimizer.zero_grad()
                loss = net(x).pow(2).mean()
                loss.backward()
                optimizer.step()
                total += loss.item()

    References
        "My model reports out of memory" in the PyTorch FAQ.
    """
    chained = list(_chains(facts))
    yield from chained
    if not chained:
        yield from _hoards(facts)


def _windows(facts: Facts) -> list[Backward]:
    return [
        r
        for r in facts.capture.backwards
        if r.api == "backward" and not r.error and not r.retain_graph and r.nested_in < 0
    ]


def _chains(facts: Facts) -> Iterator[Finding]:
    """A line that, step after step, computes with what it (or its neighbour) computed in the step before."""
    capture = facts.capture
    runs = _windows(facts)
    chains: dict[tuple[str, int], list[tuple[Op, int]]] = {}
    for op in capture.ops:
        if op.has(Trait.BACKWARD | Trait.STEP | Trait.CUT) or not any(r.end <= op.index for r in runs):
            continue
        window = sum(r.end <= op.index for r in runs)
        for tensor in op.inputs:
            record = capture.tensors[tensor]
            made = capture.ops[record.birth] if record.birth >= 0 else None
            if made is None or record.leaf or not record.requires_grad or not op.outputs:
                continue
            line = _line(facts, op.site)
            if line is not None and _line(facts, made.site) == line and sum(r.end <= made.index for r in runs) < window:
                chains.setdefault(line, []).append((op, tensor))
    for members in chains.values():
        if (len(members) >= 2 or _goes_back(facts, members[0][1])) and not _consumed(facts, members):
            yield _chain_finding(facts, members)


def _goes_back(facts: Facts, tensor: int) -> bool:
    """Whether the chain began in steps that are folded away: of its links there the last few are kept."""
    links, line = 0, _made_at(facts, tensor)
    while facts.capture.history.folded and links < _LINKS and line is not None:
        made = facts.capture.ops[facts.capture.tensors[tensor].birth]
        before = [t for t in made.inputs if facts.capture.tensors[t].requires_grad and _made_at(facts, t) == line]
        if not before:
            break
        links, tensor = links + 1, before[0]
    return links == _LINKS


def _made_at(facts: Facts, tensor: int) -> tuple[str, int] | None:
    birth = facts.capture.tensors[tensor].birth
    return _line(facts, facts.capture.ops[birth].site) if birth >= 0 else None


def _line(facts: Facts, site: int) -> tuple[str, int] | None:
    place = facts.capture.place(site)
    return None if place is None else (place.filename, place.lineno)


def _consumed(facts: Facts, members: list[tuple[Op, int]]) -> bool:
    """Whether a later backward runs through the chain: then it is computation, not a leak."""
    indices = {op.index for op, _ in members}
    first = min(indices)
    for run in facts.capture.backwards:
        if run.start > first:
            starts = [(root, run.start) for root in run.roots]
            if any(op.index in indices for op, _ in facts.flow.upstream(starts, lambda o, t: o.index > first)):
                return True
    return False


def _chain_finding(facts: Facts, members: list[tuple[Op, int]]) -> Finding:
    op, tensor = members[-1]
    steps = "more and more steps" if _goes_back(facts, members[0][1]) else f"{len(members) + 1} steps"
    place = facts.capture.place(op.site)
    name = (place.target if place is not None else "") or facts.name(tensor)
    return Finding(
        "AG502",
        "graph-leak",
        "warning",
        f"`{op.name}` adds each step's graph to that of {name}: the graphs of {steps} are chained and stay in memory",
        f"Add a number, not a tensor with its graph: `loss.item()` (or `loss.detach()`) into {name}.",
        facts.chain(op.site, "graph kept here"),
        (name,),
        ops=tuple(o.index for o, _ in members[:16]),
    )


def _hoards(facts: Facts) -> Iterator[Finding]:
    """The same line's results of several steps, alive at once, that no later backward ran through."""
    capture = facts.capture
    groups: dict[tuple[str, int], list[Kept]] = {}
    for kept in capture.kept:
        birth = capture.tensors[kept.tensor].birth
        line = _line(facts, capture.ops[birth].site) if birth >= 0 else None
        if line is not None:
            groups.setdefault(line, []).append(kept)
    found = [members for members in groups.values() if len({kept.step for kept in members}) > 1]
    found = [members for members in found if not _met_again(facts, members)]
    if found:
        # Of a step's tensors that are alive, the program holds the last; that one's graph holds the others.
        yield _hoard_finding(facts, max(found, key=lambda members: max(_birth(facts, kept) for kept in members)))


def _birth(facts: Facts, kept: Kept) -> int:
    return facts.capture.tensors[kept.tensor].birth


def _met_again(facts: Facts, members: list[Kept]) -> bool:
    """Whether a later step's backward ran through results of an earlier one."""
    births = {_birth(facts, kept): kept.step for kept in members}
    runs = [r for r in facts.capture.backwards if r.api == "backward" and r.nested_in < 0]
    for number, run in enumerate(runs):
        older = {birth for birth, step in births.items() if step < number}
        if older and any(node.op in older for node in run.graph.nodes):
            return True
    return False


def _hoard_finding(facts: Facts, members: list[Kept]) -> Finding:
    last = max(members, key=lambda kept: _birth(facts, kept))
    made = facts.capture.ops[_birth(facts, last)]
    named = facts.name(last.tensor)
    known = not named.endswith("]") or facts.capture.tensors[last.tensor].variable != ""
    name = named if known else f"the result of `{made.name}`"
    keep = f"`{name}.item()` or `{name}.detach()`" if known else "`.item()` or `.detach()` of it"
    steps = len({kept.step for kept in members}) + 1
    return Finding(
        "AG502",
        "graph-leak",
        "warning",
        f"{name} of {steps} steps, each with its graph, is alive at once: something (a list, a dict, an attribute) keeps "
        "it from step to step",
        f"Keep a number or a copy without history: {keep}.",
        unique(
            [
                *(facts.chain(last.site, "kept with its graph here") if last.site >= 0 else ()),
                *facts.chain(made.site, "computed here"),
            ]
        ),
        (name,),
        ops=(made.index,),
    )
