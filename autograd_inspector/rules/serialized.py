"""AG503: graphs taken where they cannot go."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.rules.catalogue import Facts, joined, rule, unique

SERIALIZED = ("Cowardly refusing to serialize non-leaf tensor", "Only Tensors created explicitly by the user")
IN_WORKER = ("in DataLoader worker process", "functions with out=... arguments don't support automatic differentiation")
"""A worker collates into shared memory through out=, which a tensor with a graph refuses."""


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
