"""AG108: custom autograd.Functions whose backward gives nothing back."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.autograd import Backward, Node
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.op import Trait
from autograd_inspector.rules.catalogue import rule
from autograd_inspector.rules.cuts.ignored import ignoring
from autograd_inspector.rules.facts import Facts
from autograd_inspector.rules.wording.names import folded
from autograd_inspector.rules.wording.places import unique

_WRONG_NUMBER = ("returned an incorrect number of gradients", "returned an invalid gradient")

_ONCE = "marked with @once_differentiable"


@rule("AG108", "custom-function")
def custom_function(facts: Facts) -> Iterator[Finding]:
    """A custom autograd.Function that returns None, the wrong number or shape of gradients, or ignores grad_output.

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
    told: set[tuple[int, str]] = set()
    partly = PartlyNone(facts)
    for run in facts.capture.backwards:
        if any(text in run.error for text in _WRONG_NUMBER):
            yield from _wrong_number(facts, run)
        elif _ONCE in run.error:
            yield from _only_once(facts, run)
        elif not run.error and run.api == "backward" and run.empty:
            for name, finding in partly.findings(run):
                if (run.site, name) not in told:
                    told.add((run.site, name))
                    yield finding
    yield from ignoring(facts)


class PartlyNone:
    """Functions that returned None for an input, where that leaves leaves without any gradient."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._missing = {gap.seq: gap.missing for gap in facts.capture.gaps}
        shared = facts.shared
        self._places = {run.index: place for place, run in enumerate(shared.runs)} if self._missing else {}
        self._again = [node.index for node in shared.repeated() if self._gap(node)] if self._missing else []

    def _gap(self, node: Node) -> tuple[int, ...]:
        """The inputs that it returned None for."""
        function = node.op >= 0 and self._facts.capture.ops[node.op].has(Trait.FUNCTION)
        return self._missing.get(node.seq, ()) if function else ()

    def findings(self, run: Backward) -> Iterator[tuple[str, Finding]]:
        """(the Function, what there is to say of it) of one run."""
        facts = self._facts
        for node in facts.shared.with_some(self._places[run.index], self._again) if self._missing else ():
            starts = [node.edges[number][0] for number in self._gap(node) if number < len(node.edges)]
            behind = {t for t in facts.leaves.of(starts).intersection(run.empty) if not _switch(facts, t)}
            if behind:
                name = facts.capture.ops[node.op].name.removesuffix(".apply")
                yield name, _finding(facts, run, node, name, sorted(behind))


def _switch(facts: Facts, tensor: int) -> bool:
    """A dummy input: a bare leaf of one element or none, that is passed only so that autograd records the call."""
    record, capture = facts.capture.tensors[tensor], facts.capture
    tiny = all(size <= 1 for size in record.shape)
    bare = record.kind != "parameter" and not record.names and tensor not in capture.optimized
    return tiny and bare and not any(read.tensor == tensor for read in capture.grad_reads)


def _finding(facts: Facts, run: Backward, node: Node, name: str, leaves: list[int]) -> Finding:
    names = [facts.name(t) for t in leaves]
    op = facts.capture.ops[node.op]
    inner = facts.capture.function_sites.get(name, -1)
    return Finding(
        "AG108",
        "custom-function",
        "warning",
        f"{name}.backward returns None for the input that leads to {folded(names)}, which "
        f"{'get' if len(names) > 1 else 'gets'} no gradient",
        f"Return one gradient for each input of {name}.forward, and None only for inputs that need none.",
        unique(
            [
                *facts.chain(inner, "backward is defined here"),
                *facts.chain(op.site, "applied here"),
                *facts.chain(run.site, "backward called here"),
            ]
        ),
        (name, *names),
        ops=(op.index,),
    )


def _only_once(facts: Facts, run: Backward) -> Iterator[Finding]:
    """A second derivative through a backward that is marked as not differentiable."""
    ops = [facts.capture.ops[node.op] for node in facts.nodes_of(run) if node.op >= 0]
    functions = [op for op in facts.capture.ops if op.has(Trait.FUNCTION) and op.index < run.start]
    inside = [op for op in ops if op.has(Trait.FUNCTION)] or functions[-1:]
    for op in inside[:1]:
        name = op.name.removesuffix(".apply")
        yield Finding(
            "AG108",
            "custom-function",
            "error",
            f"{name}.backward is marked with @once_differentiable, and this backward() needs its derivative",
            f"Write {name}.backward with differentiable torch operations and remove @once_differentiable, or leave {name} "
            "out of what create_graph=True differentiates.",
            unique(
                [
                    *facts.chain(facts.capture.function_sites.get(name, -1), "backward is defined here"),
                    *facts.chain(op.site, "applied here"),
                    *facts.chain(run.site, "second derivative asked for here"),
                ]
            ),
            (name,),
            ops=(op.index,),
        )


def _wrong_number(facts: Facts, run: Backward) -> Iterator[Finding]:
    for node in facts.nodes_of(run):
        short = node.name.removesuffix("Backward")
        if node.op >= 0 and facts.capture.ops[node.op].has(Trait.FUNCTION) and node.name in run.error:
            inner = facts.capture.function_sites.get(short, -1)
            yield Finding(
                "AG108",
                "custom-function",
                "error",
                f"{short}.backward returns gradients that do not fit its inputs: {run.error.split(':', 1)[-1].strip()[:200]}",
                f"Return exactly one gradient for each argument of {short}.forward, each shaped like that argument.",
                unique(
                    [
                        *facts.chain(inner, "backward is defined here"),
                        *facts.chain(facts.capture.ops[node.op].site, "applied here"),
                    ]
                ),
                (short,),
                ops=(node.op,),
            )
            return
