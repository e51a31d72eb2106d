"""What to write where a graph is carried into the next round: compute it again, or cut it off."""

from __future__ import annotations

from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.op import Op
from autograd_inspector.rules.catalogue import Facts
from autograd_inspector.rules.leaves import Leaves
from autograd_inspector.rules.severed import stepped_with


def carry_fix(facts: Facts, carried: tuple[Op, int, Backward], *, unstepped: bool) -> str:
    """The advice for (the op that read it, the tensor, the backward that freed its graph)."""
    reader, tensor, freed_by = carried
    name, made = facts.name(tensor), facts.flow.birth(tensor)
    behind = () if made is None else Leaves(facts.capture, facts.flow).above(made)
    trained = {t for held in stepped_with(facts.capture, freed_by) for t in held}
    if trained and facts.capture.optimized.intersection(behind) and trained.isdisjoint(behind):
        # A generator under the discriminator's loss: the later loss is the one that needs the graph.
        return (
            f"Write `{name}.detach()` in the loss that is backpropagated first: its optimizer does not hold what is behind "
            f"{name}."
        )
    return (
        f"Compute {name} again for each backward, or cut it off where it is carried over: "
        f"`{_detached(facts, reader, tensor, made)}`"
        + (", or pass retain_graph=True to the backward that comes first." if unstepped else ".")
    )


def _detached(facts: Facts, reader: Op, tensor: int, made: Op | None) -> str:
    """The assignment that cuts it off, together with what else the same op made and the same op reads: (h, c)."""
    name, tensors = facts.name(tensor), facts.capture.tensors
    together = [t for t in made.outputs if t in reader.inputs] if made is not None else [tensor]
    names = list(dict.fromkeys(tensors[t].variable for t in together if tensors[t].variable))
    if len(together) > 1 and names == [name]:
        return f"{name} = tuple(t.detach() for t in {name})"  # Only the first item is named where a tuple is assigned.
    if len(together) == len(names) > 1:
        return f"{', '.join(names)} = {', '.join(f'{n}.detach()' for n in names)}"
    return f"{name} = {name}.detach()"
