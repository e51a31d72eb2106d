"""AG108: custom autograd.Functions whose backward gives nothing back."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.names import summarize_names
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Backward, Node
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import dedupe_locations
from autograd_inspector.model.op import Trait
from autograd_inspector.model.torch_errors import TorchError, says
from autograd_inspector.rules.ag108_custom_function.ignored_grad_output import ignoring


def check(analysis: Analysis) -> Iterator[Problem]:
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
    partly = PartlyNone(analysis)
    for run in analysis.capture.backwards:
        if says(run.error, TorchError.WRONG_GRADIENTS):
            yield from _wrong_number(analysis, run)
        elif says(run.error, TorchError.ONCE_DIFFERENTIABLE):
            yield from _only_once(analysis, run)
        elif not run.error and run.api == "backward" and run.empty:
            for name, finding in partly.findings(run):
                if (run.site, name) not in told:
                    told.add((run.site, name))
                    yield finding
    yield from ignoring(analysis)


class PartlyNone:
    """Functions that returned None for an input, where that leaves leaves without any gradient."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._missing = {gap.seq: gap.missing for gap in analysis.capture.gaps}
        shared = analysis.shared
        self._places = {run.index: place for place, run in enumerate(shared.runs)} if self._missing else {}
        self._again = [node.index for node in shared.repeated() if self._gap(node)] if self._missing else []

    def _gap(self, node: Node) -> tuple[int, ...]:
        """The inputs that it returned None for."""
        function = node.op >= 0 and self._analysis.capture.ops[node.op].has(Trait.FUNCTION)
        return self._missing.get(node.seq, ()) if function else ()

    def findings(self, run: Backward) -> Iterator[tuple[str, Problem]]:
        """(the Function, what there is to say of it) of one run."""
        analysis = self._analysis
        for node in analysis.shared.with_some(self._places[run.index], self._again) if self._missing else ():
            starts = [node.edges[number][0] for number in self._gap(node) if number < len(node.edges)]
            behind = {t for t in analysis.leaves.of(starts).intersection(run.empty) if not _switch(analysis, t)}
            if behind:
                name = analysis.capture.ops[node.op].name.removesuffix(".apply")
                yield name, _finding(analysis, run, node, name, sorted(behind))


def _switch(analysis: Analysis, tensor: int) -> bool:
    """A dummy input: a bare leaf of one element or none, that is passed only so that autograd records the call."""
    record, capture = analysis.capture.tensors[tensor], analysis.capture
    tiny = all(size <= 1 for size in record.shape)
    bare = record.kind != "parameter" and not record.names and tensor not in capture.optimized
    return tiny and bare and not any(read.tensor == tensor for read in capture.grad_reads)


def _finding(analysis: Analysis, run: Backward, node: Node, name: str, leaves: list[int]) -> Problem:
    names = [analysis.display_name(t) for t in leaves]
    op = analysis.capture.ops[node.op]
    inner = analysis.capture.function_sites.get(name, -1)
    return Problem(
        "warning",
        f"{name}.backward returns None for the input that leads to {summarize_names(names)}, which "
        f"{'get' if len(names) > 1 else 'gets'} no gradient",
        f"Return one gradient for each input of {name}.forward, and None only for inputs that need none.",
        dedupe_locations(
            [
                *analysis.user_frames(inner, "backward is defined here"),
                *analysis.user_frames(op.site, "applied here"),
                *analysis.user_frames(run.site, "backward called here"),
            ]
        ),
        (name, *names),
        ops=(op.index,),
    )


def _only_once(analysis: Analysis, run: Backward) -> Iterator[Problem]:
    """A second derivative through a backward that is marked as not differentiable."""
    ops = [analysis.capture.ops[node.op] for node in analysis.nodes_of(run) if node.op >= 0]
    functions = [op for op in analysis.capture.ops if op.has(Trait.FUNCTION) and op.index < run.start]
    inside = [op for op in ops if op.has(Trait.FUNCTION)] or functions[-1:]
    for op in inside[:1]:
        name = op.name.removesuffix(".apply")
        yield Problem(
            "error",
            f"{name}.backward is marked with @once_differentiable, and this backward() needs its derivative",
            f"Write {name}.backward with differentiable torch operations and remove @once_differentiable, or leave {name} "
            "out of what create_graph=True differentiates.",
            dedupe_locations(
                [
                    *analysis.user_frames(analysis.capture.function_sites.get(name, -1), "backward is defined here"),
                    *analysis.user_frames(op.site, "applied here"),
                    *analysis.user_frames(run.site, "second derivative asked for here"),
                ]
            ),
            (name,),
            ops=(op.index,),
        )


def _wrong_number(analysis: Analysis, run: Backward) -> Iterator[Problem]:
    for node in analysis.nodes_of(run):
        short = node.name.removesuffix("Backward")
        if node.op >= 0 and analysis.capture.ops[node.op].has(Trait.FUNCTION) and node.name in run.error:
            inner = analysis.capture.function_sites.get(short, -1)
            yield Problem(
                "error",
                f"{short}.backward returns gradients that do not fit its inputs: {run.error.split(':', 1)[-1].strip()[:200]}",
                f"Return exactly one gradient for each argument of {short}.forward, each shaped like that argument.",
                dedupe_locations(
                    [
                        *analysis.user_frames(inner, "backward is defined here"),
                        *analysis.user_frames(analysis.capture.ops[node.op].site, "applied here"),
                    ]
                ),
                (short,),
                ops=(node.op,),
            )
            return
