"""AG108: custom autograd.Functions whose backward gives nothing back."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.autograd import Backward, Node
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.op import Trait
from autograd_inspector.rules.catalogue import Facts, folded, rule, unique

_WRONG_NUMBER = ("returned an incorrect number of gradients", "returned an invalid gradient")


@rule("AG108", "custom-function")
def custom_function(facts: Facts) -> Iterator[Finding]:
    """A custom autograd.Function that returns None, or the wrong number or shape of gradients.

    Why it matters
        None from backward means "no gradient": whatever lies behind gets nothing, silently.

    Example
        ::

            class Scale(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x):
                    return x * 2

                @staticmethod
                def backward(ctx, grad):
                    return None

            head(Scale.apply(encoder(x))).mean().backward()

    Fix
        ::

            class Scale(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x):
                    return x * 2

                @staticmethod
                def backward(ctx, grad):
                    return grad * 2

            head(Scale.apply(encoder(x))).mean().backward()

    References
        "Extending torch.autograd" in the PyTorch documentation.
    """
    for run in facts.capture.backwards:
        if any(text in run.error for text in _WRONG_NUMBER):
            yield from _wrong_number(facts, run)
        elif not run.error and run.api == "backward" and run.empty:
            yield from _returns_none(facts, run)


def _returns_none(facts: Facts, run: Backward) -> Iterator[Finding]:
    """Functions behind which every leaf stayed without gradient though the graph leads there."""
    nodes = run.graph.nodes
    empty = set(run.empty)
    for node in nodes:
        op = facts.capture.ops[node.op] if node.op >= 0 else None
        if op is None or not op.has(Trait.FUNCTION) or op.name.startswith(("CheckpointFunction", "_Noop")):
            continue
        behind = facts.leaves_below(run, node)
        if behind and behind <= empty:
            yield _finding(facts, run, node, op.name.removesuffix(".apply"), sorted(behind))


def _finding(facts: Facts, run: Backward, node: Node, name: str, leaves: list[int]) -> Finding:
    names = [facts.name(t) for t in leaves]
    op = facts.capture.ops[node.op]
    inner = facts.capture.function_sites.get(name, -1)
    return Finding(
        "AG108",
        "custom-function",
        "warning",
        f"{name}.backward returns None for the input that leads to {folded(names)}: nothing behind {name} gets a gradient",
        f"Return one gradient for each input of {name}.forward, and None only for inputs that are no tensors.",
        unique([
            *facts.chain(inner, "backward is defined here"),
            *facts.chain(op.site, "applied here"),
            *facts.chain(run.site, "backward called here"),
        ]),
        (name, *names),
        ops=(op.index,),
    )


def _wrong_number(facts: Facts, run: Backward) -> Iterator[Finding]:
    for node in run.graph.nodes:
        short = node.name.removesuffix("Backward")
        if node.op >= 0 and facts.capture.ops[node.op].has(Trait.FUNCTION) and node.name in run.error:
            inner = facts.capture.function_sites.get(short, -1)
            yield Finding(
                "AG108",
                "custom-function",
                "error",
                f"{short}.backward returns gradients that do not fit its inputs: {run.error.split(':', 1)[-1].strip()[:200]}",
                f"Return exactly one gradient for each argument of {short}.forward, each shaped like that argument.",
                unique([
                    *facts.chain(inner, "backward is defined here"),
                    *facts.chain(facts.capture.ops[node.op].site, "applied here"),
                ]),
                (short,),
                ops=(node.op,),
            )
            return
