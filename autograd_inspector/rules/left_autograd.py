"""AG105: values that left autograd and came back without their history."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.finding import Finding
from autograd_inspector.model.op import Op
from autograd_inspector.rules.catalogue import Facts, joined, rule, unique
from autograd_inspector.rules.cut_findings import called, caused_by, cut_finding
from autograd_inspector.rules.cutting import DETACHING


@rule("AG105", "left-autograd")
def left_autograd(facts: Facts) -> Iterator[Finding]:
    """The value went to Python, NumPy, pickle or another process and came back, or was rewrapped by `torch.tensor`.

    Why it matters
        `torch.tensor(loss)`, `loss.item()`, `.numpy()` and collectives copy the value and leave the history behind.
        With `requires_grad=True` on the copy backward even runs: on a graph of one node.

    Example
        ::

            loss = net(x).pow(2).mean()
            loss = torch.tensor(loss.item(), requires_grad=True)
            loss.backward()
            optimizer.step()

    Fix
        ::

            loss = net(x).pow(2).mean()
            loss.backward()
            optimizer.step()

    References
        torch.tensor (it always copies); torch.Tensor.item; torch.distributed.nn for collectives with gradient.
    """
    for cut in caused_by(facts, "left autograd"):
        op = _way_out(facts, cut.ops[0])
        taken = _taken_out(facts, op)
        way = _OUT.get(op.name) or " and ".join([*(_OUT[o.name] for o in taken), f"`{_spelled(op)}`"])
        what = joined((called(facts, t) for t in cut.ops[0].inputs), 3)
        yield cut_finding(
            facts,
            "AG105",
            cut,
            f"{way} turned {what} into a value outside of torch: what is computed from it has no history"
            if op.name in _OUT
            else f"{way} made a copy of {what} that has no history",
            _rewrap_fix(facts, cut.ops[0]),
            unique(
                [
                    *facts.chain(op.site, "left torch here" if op.name in _OUT else "rewrapped here"),
                    *(place for o in taken for place in facts.chain(o.site, "left torch here")),
                ]
            ),
        )


def _way_out(facts: Facts, op: Op) -> Op:
    """Of ``x.detach().numpy()`` the second part."""
    if op.name not in DETACHING:
        return op
    later = facts.capture.ops[op.index + 1 :]
    return next((o for o in later if o.name in _OUT and set(o.inputs) & set(op.outputs)), op)


def _taken_out(facts: Facts, op: Op) -> list[Op]:
    """The op that took the value out of torch before this one brought it back."""
    out = [o for o in facts.capture.ops[: op.index] if o.name in _OUT and set(o.inputs) & set(op.inputs)]
    return out[-1:]


_OUT = {
    "item": "`.item()`",
    "tolist": "`.tolist()`",
    "numpy": "`.numpy()`",
    "__array__": "NumPy",
    "__float__": "`float()`",
    "__int__": "`int()`",
    "__reduce_ex__": "pickling",
}


def _spelled(op: Op) -> str:
    return f"torch.{op.name}()" if op.name != "__deepcopy__" else "copy.deepcopy()"


def _rewrap_fix(facts: Facts, op: Op) -> str:
    if op.name in {"all_gather", "all_reduce", "all_gather_into_tensor", "broadcast"}:
        return (
            f"Use torch.distributed.nn.functional.{op.name}, which has a gradient, or put the local tensor back into "
            "the gathered list."
        )
    source = joined((called(facts, t) for t in op.inputs), 2)
    return f"Use {source} itself: no torch.tensor(), item() or NumPy between the model and backward()."
