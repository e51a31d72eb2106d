"""AG107: parameters that no optimizer can find because no module knows them."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.rules.catalogue import rule
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.optimizers.given_nothing import EMPTY, waiting
from autograd_inspector.rules.wording.names import folded
from autograd_inspector.rules.wording.places import unique


@rule("AG107", "unregistered-parameter")
def unregistered_parameter(facts: Facts) -> Iterator[Finding]:
    """A parameter in a plain list, made in forward, or held as a bare tensor: `parameters()` does not know it.

    Why it matters
        nn.Module finds parameters that are attributes, in ModuleList or in ParameterList. In a Python list, or made
        anew in each forward, they get gradients and are never stepped.

    Example
        ::

            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.first = nn.Linear(4, 4)
                    self.layers = [nn.Linear(4, 4)]

                def forward(self, x):
                    return self.layers[0](self.first(x))


            net = Net()
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            net(x).pow(2).mean().backward()
            optimizer.step()

    Fix
        ::

            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.first = nn.Linear(4, 4)
                    self.layers = nn.ModuleList([nn.Linear(4, 4)])

                def forward(self, x):
                    return self.layers[0](self.first(x))


            net = Net()
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            net(x).pow(2).mean().backward()
            optimizer.step()

    References
        torch.nn.ModuleList, torch.nn.ParameterList, torch.nn.Module.register_parameter.
    """
    if EMPTY in facts.capture.error and not waiting(facts):
        yield _empty(facts)
    # A parameter that forward wraps around another's values is that one's loss: AG101 tells it.
    found = facts.unregistered - {t for cut in facts.severed if cut.cause == "detached" for t in cut.through}
    if found:
        yield _finding(facts, sorted(found))


def _finding(facts: Facts, tensors: list[int]) -> Finding:
    names = list(dict.fromkeys(facts.name(t) for t in tensors))  # Made anew in each forward it is called the same.
    born = [place for t in tensors[:4] for place in _birthplace(facts, t)]
    use = next((op for op in facts.capture.ops if set(tensors) & set(op.inputs) and op.call >= 0), None)
    inside = facts.capture.calls[use.call] if use is not None else None
    while inside is not None and inside.parent >= 0:
        inside = facts.capture.calls[inside.parent]
    owner = inside.type if inside is not None else "the module"
    return Finding(
        "AG107",
        "unregistered-parameter",
        "warning",
        f"{folded(names)} {'are' if len(names) > 1 else 'is'} used by {owner}.forward and {'get' if len(names) > 1 else 'gets'} "
        f"gradients, but {owner}.parameters() does not know {'them' if len(names) > 1 else 'it'}, so no optimizer does",
        "Register it in __init__: nn.Parameter as an attribute, nn.ParameterList / nn.ModuleList instead of a Python list; "
        "make it once, not in forward.",
        unique([*born, *(facts.chain(use.site, "used here") if use is not None else ())]),
        tuple(names),
    )


def _birthplace(facts: Facts, tensor: int) -> tuple[Location, ...]:
    changes = [c for c in facts.capture.changes if c.kind == "registered" and tensor in c.tensors]
    leaves = [c for c in facts.capture.leaf_changes if c.tensor == tensor and c.requires_grad]
    made = facts.flow.birth(tensor)
    sites = [c.site for c in changes[-1:]] or [c.site for c in leaves[-1:]] or ([made.site] if made is not None else [])
    return tuple(place for site in sites for place in facts.chain(site, "made here"))


def _empty(facts: Facts) -> Finding:
    changes = [c for c in facts.capture.changes if c.kind == "registered"]
    bare = [c for c in facts.capture.leaf_changes if c.requires_grad and not facts.capture.tensors[c.tensor].names]
    names = [facts.name(t) for c in changes for t in c.tensors] + [facts.name(c.tensor) for c in bare]
    sites = [change.site for change in changes] + [change.site for change in bare]
    return Finding(
        "AG107",
        "unregistered-parameter",
        "error",
        "the module given to the optimizer has no parameters: what it was to learn is held in a plain list or as bare "
        "tensors",
        "Hold layers in nn.ModuleList and weights as nn.Parameter attributes.",
        unique([place for site in sites for place in facts.chain(site, "made here")])[:8],
        tuple(dict.fromkeys(names)),
    )
