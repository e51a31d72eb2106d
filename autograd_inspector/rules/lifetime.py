"""AG501 and AG503: graphs that are gone when needed, or taken where they cannot go."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op, Trait
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
    first = earlier[-1]
    if carried is None:
        return Finding(
            "AG501",
            "graph-freed",
            "error",
            f"backward was called twice on {joined(map(facts.name, run.roots), 2)}: the first call freed its graph",
            "Sum the losses and call backward() once, or pass retain_graph=True to the first call.",
            unique([*facts.chain(run.site, "second backward here"), *facts.chain(first.site, "graph freed here")]),
            tuple(facts.name(t) for t in run.roots),
        )
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
        unique([
            *(facts.chain(made.site, "carried over from here") if made is not None else ()),
            *facts.chain(reader.site, "used again here"),
            *facts.chain(freed_by.site, "graph freed here"),
            *facts.chain(run.site, "second backward here"),
        ]),
        (name,),
        ops=(reader.index,),
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
    capture = facts.capture
    runs = [r for r in capture.backwards if r.api == "backward" and not r.error and not r.retain_graph and r.nested_in < 0]
    chains: dict[int, list[tuple[Op, int]]] = {}
    for op in capture.ops:
        if op.has(Trait.BACKWARD | Trait.STEP | Trait.CUT) or not any(r.end <= op.index for r in runs):
            continue
        window = sum(r.end <= op.index for r in runs)
        for tensor in op.inputs:
            record = capture.tensors[tensor]
            made = capture.ops[record.birth] if record.birth >= 0 else None
            if made is None or record.leaf or not record.requires_grad or not op.outputs:
                continue
            if made.site == op.site and sum(r.end <= made.index for r in runs) < window:
                chains.setdefault(op.site, []).append((op, tensor))
    for members in chains.values():
        if len(members) >= 2 and not _consumed(facts, members):
            yield _leak(facts, members)


def _consumed(facts: Facts, members: list[tuple[Op, int]]) -> bool:
    """Whether a later backward runs through the chain: then it is computation, not a leak."""
    capture = facts.capture
    last = members[-1][0]
    for run in capture.backwards:
        if run.start > last.index:
            starts = [(root, run.start) for root in run.roots]
            if any(op.index == last.index for op, _ in facts.flow.upstream(starts, lambda o, t: o.index > last.index)):
                return True
    return False


def _leak(facts: Facts, members: list[tuple[Op, int]]) -> Finding:
    op, tensor = members[-1]
    place = facts.capture.place(op.site)
    name = (place.target if place is not None else "") or facts.name(tensor)
    return Finding(
        "AG502",
        "graph-leak",
        "warning",
        f"`{op.name}` adds each step's graph to that of {name}: the graphs of {len(members) + 1} steps are chained and "
        "stay in memory",
        f"Add a number, not a tensor with its graph: `loss.item()` (or `loss.detach()`) into {name}.",
        facts.chain(op.site, "graph kept here"),
        (name,),
        ops=tuple(o.index for o, _ in members[:16]),
    )
