"""AG501 and AG503: graphs that are gone when needed, or taken where they cannot go."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op
from autograd_inspector.rules.catalogue import Facts, joined, rule, unique

FREED = "backward through the graph a second time"
SERIALIZED = ("Cowardly refusing to serialize non-leaf tensor", "Only Tensors created explicitly by the user")
IN_WORKER = ("in DataLoader worker process", "functions with out=... arguments don't support automatic differentiation")
"""A worker collates into shared memory through out=, which a tensor with a graph refuses."""


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
            if earlier:
                yield _freed(facts, run, earlier)


def _freed(facts: Facts, run: Backward, earlier: list[Backward]) -> Finding:
    carried = _carried(facts, run, earlier[-1])
    if carried is None:
        return _shared(facts, run, earlier)
    reader, tensor, freed_by = carried
    made = facts.flow.birth(tensor)
    name = facts.name(tensor)
    return Finding(
        "AG501",
        "graph-freed",
        "error",
        f"{name} carries a graph that an earlier backward has already freed into `{reader.name}`: backward runs through "
        "it a second time",
        f"Compute {name} again for each backward, or cut it off where it is carried over: `{name} = {name}.detach()`.",
        unique(
            [
                *(facts.chain(made.site, "carried over from here") if made is not None else ()),
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
                freed = next((r for r in capture.backwards if r.end > made.index and not r.error), last)
                return op, tensor, freed
    return None


@rule("AG503", "graph-serialized")
def graph_serialized(facts: Facts) -> Iterator[Finding]:
    """A tensor that still carries its graph is pickled, deep-copied or sent to a worker process.

    Why it matters
        A graph cannot leave its process. DataLoader workers raise far away from the line that computed the tensor;
        plain pickling drops the history without a word.

    Example
        ::

            items = encoder(x)
            copy.deepcopy(items)

    Fix
        ::

            items = encoder(x).detach()
            copy.deepcopy(items)

    References
        torch.multiprocessing; torch.utils.data.DataLoader (num_workers).
    """
    said = facts.capture.error
    if not (any(text in said for text in SERIALIZED) or all(text in said for text in IN_WORKER)):
        return
    failed = [op for op in facts.capture.ops if op.error and any(text in op.error for text in SERIALIZED)]
    held = [t for op in failed for t in op.inputs] or [
        t for t in facts.capture.alive if facts.capture.tensors[t].requires_grad and not facts.capture.tensors[t].leaf
    ]
    names = [facts.name(t) for t in held]
    made = [place for t in held[:4] for place in _made(facts, t)]
    yield Finding(
        "AG503",
        "graph-serialized",
        "error",
        f"{joined(names) or 'a tensor'} still has its graph (requires_grad, with a grad_fn) and was sent to another "
        "process or copied: a graph cannot go along",
        "Compute what is stored under torch.no_grad(), or detach() it before it is stored.",
        unique([*made, *(place for op in failed for place in facts.chain(op.site, "serialized here"))]),
        tuple(dict.fromkeys(names)),
    )


def _made(facts: Facts, tensor: int) -> tuple[Location, ...]:
    made = facts.flow.birth(tensor)
    return facts.chain(made.site, "computed with its graph here") if made is not None else ()
