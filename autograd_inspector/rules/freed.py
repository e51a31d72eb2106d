"""AG501: backward through a graph that is gone."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op
from autograd_inspector.rules.carried import carry_fix
from autograd_inspector.rules.catalogue import Facts, joined, rule, unique
from autograd_inspector.rules.older import older_graph
from autograd_inspector.rules.saving import VIEWS

FREED = "backward through the graph a second time"


@rule("AG501", "graph-freed")
def graph_freed(facts: Facts) -> Iterator[Finding]:
    """Backward through a graph that an earlier backward has freed: which tensor carried it over.

    Why it matters
        Backward frees the saved tensors of the graph it ran through. A hidden state, a cached feature or a loss that
        is carried into the next iteration takes the freed graph along.

    Example
        ::

            features = encoder(x)
            for _ in range(2):
                head(features.tanh()).pow(2).mean().backward()

    Fix
        ::

            for _ in range(2):
                features = encoder(x)
                head(features.tanh()).pow(2).mean().backward()

    References
        torch.Tensor.backward (retain_graph); "truncated backpropagation through time" for hidden states.
    """
    for run in facts.capture.backwards:
        if FREED in run.error:
            earlier = [r for r in facts.capture.backwards[: run.index] if not r.error and r.nested_in < 0]
            older = older_graph(facts, run, earlier)
            if older is not None:
                yield older
            elif earlier:
                yield _freed(facts, run, earlier)


def _freed(facts: Facts, run: Backward, earlier: list[Backward]) -> Finding:
    carried = _carried(facts, run, earlier[-1])
    if carried is None:
        return _shared(facts, run, earlier)
    reader, tensor, freed_by = carried
    made = facts.flow.birth(tensor)
    name = facts.name(tensor)
    unstepped = _unstepped(facts, freed_by, run)
    return Finding(
        "AG501",
        "graph-freed",
        "error",
        f"{name} carries into `{reader.name}` a graph that an earlier backward has already freed: backward runs through "
        "it a second time",
        carry_fix(facts, (reader, tensor, freed_by), unstepped=unstepped),
        unique(
            [
                # What asks for a gradient and then goes on with the graph has to keep it.
                *(facts.chain(freed_by.site, "graph freed here") if freed_by.api == "grad" and unstepped else ()),
                *(facts.chain(made.site, "carried over from here") if made is not None else ()),
                *(place for op in _viewed(facts, made) for place in facts.chain(op.site, "computed here")),
                *facts.chain(reader.site, "used again here"),
                *facts.chain(freed_by.site, "graph freed here"),
                *facts.chain(run.site, "second backward here"),
            ]
        ),
        (name,),
        ops=(reader.index,),
    )


def _shared(facts: Facts, run: Backward, earlier: list[Backward]) -> Finding:
    """Two losses over one graph, or one loss twice."""
    roots = joined(map(facts.name, run.roots), 2)
    above = {op.index for op, _ in facts.flow.upstream((t, run.start) for t in run.roots)}
    for other in reversed(earlier):
        if set(other.roots) & set(run.roots):
            return _twice(
                facts, run, other, f"backward was called twice on {roots}: the first call freed its graph", ()
            )
        met = [op for op, _ in facts.flow.upstream((t, other.start) for t in other.roots) if op.index in above]
        common = [op for op in met if op.last_seq > op.first_seq and op.outputs]
        if common and not other.retain_graph:
            last = max(common, key=lambda op: op.index)
            name = facts.name(last.outputs[0])
            first = joined(map(facts.name, other.roots), 2)
            text = f"{first} and {roots} share the graph of {name}, which the first backward() has freed"
            return _twice(facts, run, other, text, (name,), facts.chain(last.site, "shared graph ends here"))
    return _twice(facts, run, earlier[-1], f"an earlier backward has freed the graph of {roots}", ())


def _twice(
    facts: Facts, run: Backward, first: Backward, text: str, names: tuple[str, ...], where: tuple[Location, ...] = ()
) -> Finding:
    return Finding(
        "AG501",
        "graph-freed",
        "error",
        text,
        "Sum the losses and call backward() once, pass retain_graph=True to the first call, or detach() what the first "
        "loss does not have to train.",
        unique(
            [
                *facts.chain(run.site, "second backward here"),
                *facts.chain(first.site, "graph freed here"),
                *where,
            ]
        ),
        tuple(dict.fromkeys([*names, *(facts.name(t) for t in run.roots)])),
    )


def _viewed(facts: Facts, made: Op | None) -> list[Op]:
    """Where the carried tensor is a part of something (`h = context[0]`), the op that computed the whole."""
    base = made
    while base is not None and base.name in VIEWS and base.inputs:
        base = facts.flow.birth(base.inputs[0])
    return [] if base is None or base is made else [base]


def _unstepped(facts: Facts, first: Backward, second: Backward) -> bool:
    """Whether no optimizer step lies between two backwards: then the first may keep its graph for the second."""
    return not any(first.end <= step.at <= second.start for step in facts.capture.steps)


def _freer(facts: Facts, made: Op, run: Backward) -> Backward | None:
    """The backward that ran through what the op made, and kept nothing of it."""
    later = [r for r in facts.capture.backwards[: run.index] if r.end > made.index and not r.error]
    through = [r for r in later if not r.retain_graph and any(node.op == made.index for node in r.graph.nodes)]
    return next(iter([*through, *later]), None)


def _carried(facts: Facts, run: Backward, last: Backward) -> tuple[Op, int, Backward] | None:
    """(the op that read it, the tensor, the backward that freed it): graph from before an earlier backward."""
    capture = facts.capture
    starts = [(root, run.start) for root in run.roots]
    for op, _ in facts.flow.upstream(starts, lambda o, t: o.index >= last.end):
        if op.index < last.end:
            continue
        for tensor in op.inputs:
            record = capture.tensors[tensor]
            made = facts.flow.birth(tensor)
            if made is not None and made.index < last.end and record.requires_grad and not record.leaf:
                return op, tensor, _freer(facts, made, run) or last
    return None
