"""AG502: graphs of earlier steps that something keeps alive."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.advice.remedies.graphs import added_without_graph
from autograd_inspector.advice.spelling import assignable
from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.model.event import RetainedGraph
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.graphs import below
from autograd_inspector.model.location import with_role
from autograd_inspector.rules.ag502_graph_leak.chained import chains
from autograd_inspector.rules.ag502_graph_leak.contexts import kept_by_context
from autograd_inspector.rules.ag502_graph_leak.hooks import piling_hooks
from autograd_inspector.rules.ag502_graph_leak.idle_graphs import idle_graphs
from autograd_inspector.rules.ag502_graph_leak.own_hooks import held_by_hook, own_hook


def check(analysis: Analysis) -> Iterator[Problem]:
    """Graphs of earlier steps are kept alive by a running sum, a list or an attribute.

    Why it matters
        `total += loss` chains the graph of every step to that of the next, as does a moving average of weights that is
        updated with grad mode enabled. Memory grows with each iteration, although the training itself is correct.
        So it is with `backward(create_graph=True)` where nothing differentiates the gradients: each `.grad` has a graph.

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
    chained = list(chains(analysis))
    yield from chained
    contexts = list(kept_by_context(analysis))
    yield from contexts
    if not chained and not any(problem.severity == "warning" for problem in contexts):
        yield from _hoards(analysis)
    yield from piling_hooks(analysis)
    yield from idle_graphs(analysis)


def _hoards(analysis: Analysis) -> Iterator[Problem]:
    """The same line's results of several rounds that piled up, and that no later backward ran through."""
    capture = analysis.capture
    groups: dict[tuple[str, int], list[RetainedGraph]] = {}
    for kept in capture.retained_graphs:
        line = line_of(analysis, capture.ops[_birth(analysis, kept)].site)
        if line is not None:
            groups.setdefault(line, []).append(kept)
    hoards = [members for members in groups.values() if not _met_again(analysis, members)]
    if hoards:
        # Of a step's tensors that are alive, the program holds the last; that one's graph holds the others.
        yield _hoard_finding(analysis, max(hoards, key=lambda members: max(_birth(analysis, kept) for kept in members)))


def _birth(analysis: Analysis, kept: RetainedGraph) -> int:
    return analysis.capture.tensors[kept.tensor].birth


def _met_again(analysis: Analysis, members: list[RetainedGraph]) -> bool:
    """Whether a later round's backward ran through results of an earlier one."""
    capture = analysis.capture
    met = {_birth(analysis, kept): kept.met for kept in members}
    seen: set[int] = set()
    for run in reversed(capture.backwards):  # Of the runs through a node the last one decides.
        new = below(capture.nodes, run.graph.roots, seen) if run.api == "backward" else []
        if any(run.start >= met.get(capture.nodes[number].op, run.start + 1) for number in new):
            return True
        seen.update(new)
    return False


def _hoard_finding(analysis: Analysis, members: list[RetainedGraph]) -> Problem:
    last = max(members, key=lambda kept: _birth(analysis, kept))
    made = analysis.capture.ops[_birth(analysis, last)]
    record = analysis.capture.tensors[last.tensor]
    name = name_of(analysis, last.tensor)
    has_variable = assignable(name, analysis, last.tensor)
    detach, item = (f"`{name}.detach()`", f"`{name}.item()`") if has_variable else ("`.detach()`", "`.item()`")
    keep = f"a number or a detached copy: {item} or {detach}" if record.shape == () else f"a detached copy: {detach}"
    # The result of the last round may be newer than the last look.
    newer = any(op.site == made.site and op.name == made.name for op in analysis.capture.ops[made.index + 1 :])
    steps = f"{len({kept.met for kept in members}) + newer} or more steps"
    hook = own_hook(analysis, members)
    if hook is not None:
        return held_by_hook(analysis, hook, made, name, steps, detach)
    kept = analysis.user_frames(last.site, "kept with its graph here") if last.site >= 0 else ()
    return Problem(
        "warning",
        f"{name} of {steps}, each with its graph, is alive at the same time: something (a list, a dict, an attribute) "
        "keeps it from step to step",
        f"Keep {keep}.",
        (
            *(() if last.returned else kept),
            *analysis.user_frames(made.site, "computed here"),
            *(with_role(place, "returned with its graph here") for place in kept if last.returned),
        ),
        (name,),
        ops=(made.index,),
        # Whoever gets what is returned may call backward() on it.
        cures=tuple(added_without_graph(analysis, last.site, [name] if has_variable else [], number=False))
        if kept and not last.returned
        else (),
    )
