"""AG108: custom autograd.Functions whose backward gives nothing back, or spoils what it is given."""

from __future__ import annotations

import re
from collections.abc import Iterator

from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ops_of import having
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import OnceDifferentiable
from autograd_inspector.model.remedy import Remedies, ReturnAlso, Undecorate
from autograd_inspector.model.rewrites import SwapReturned
from autograd_inspector.model.torch_errors import TorchError, says
from autograd_inspector.rules.ag108_custom_function.cut_within import cut_within, saved_within
from autograd_inspector.rules.ag108_custom_function.exchanged import exchanging
from autograd_inspector.rules.ag108_custom_function.hidden_inputs import computing_with_others
from autograd_inspector.rules.ag108_custom_function.ignored_grad_output import ignoring
from autograd_inspector.rules.ag108_custom_function.ignored_output import ignoring_an_output
from autograd_inspector.rules.ag108_custom_function.mixed import mixing
from autograd_inspector.rules.ag108_custom_function.modified_grad_output import modifying
from autograd_inspector.rules.ag108_custom_function.modified_input import modifying_input
from autograd_inspector.rules.ag108_custom_function.partly_none import PartlyNone, deciding_sites
from autograd_inspector.rules.ag108_custom_function.transforms import refused_by_transforms
from autograd_inspector.rules.ag108_custom_function.zeros_returned import zeroing


def check(analysis: Analysis) -> Iterator[Problem]:
    """A custom autograd.Function that returns None or a wrong gradient, or modifies or ignores its inputs.

    Why it matters
        None from backward means "no gradient": parameters before the Function silently get none. A tensor that forward
        reads from `self`, from `ctx` or from a closure is not an input of the graph, and gets none either. Two gradients of one shape
        in the wrong order train each parameter with the gradient of the other. A grad_output that
        backward modifies in place may also be the gradient of another branch. An input that forward modifies in place
        without `ctx.mark_dirty` keeps its old graph with new values. torch.func (vmap, grad, jacrev) takes a Function
        only if its `forward` has no `ctx`: what is saved then is saved in a separate `setup_context`.

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
    partly = PartlyNone(analysis)
    for run in analysis.capture.backwards:
        if says(run.error, TorchError.WRONG_GRADIENTS):
            yield from _wrong_number(analysis, run)
        elif says(run.error, TorchError.ONCE_DIFFERENTIABLE):
            yield from _only_once(analysis, run)
        elif run.completed:
            yield from partly.findings(run)
    yield from refused_by_transforms(analysis)
    yield from ignoring(analysis)
    yield from ignoring_an_output(analysis)
    yield from exchanging(analysis)
    yield from mixing(analysis)
    yield from modifying(analysis)
    yield from modifying_input(analysis)
    yield from zeroing(analysis)
    yield from cut_within(analysis)
    yield from saved_within(analysis)
    yield from computing_with_others(analysis)


def _only_once(analysis: Analysis, run: Backward) -> Iterator[Problem]:
    """A second derivative through a backward that is marked as not differentiable."""
    marked = {event.function: event.site for event in analysis.capture.events_of(OnceDifferentiable)}
    ops = [analysis.capture.ops[node.op] for node in analysis.nodes_of(run) if node.op >= 0]
    applied = [op for op in having(analysis.capture, Trait.FUNCTION) if op.index < run.start]
    functions = [*(op for op in ops if op.has(Trait.FUNCTION)), *reversed(applied)]
    blamed = [op for op in functions if op.name.removesuffix(".apply") in marked] or functions
    for op in blamed[:1]:
        name = op.name.removesuffix(".apply")
        yield Problem(
            "error",
            f"{name}.backward is marked with @once_differentiable, and this backward() needs its derivative",
            f"Write {name}.backward with differentiable torch operations and remove @once_differentiable, or leave {name} "
            "out of the part that create_graph=True differentiates.",
            analysis.places(
                (marked.get(name, -1), "marked here"),
                (analysis.capture.function_sites.get(name, -1), "backward is defined here"),
                (op, "applied here"),
                (run, "second derivative requested here"),
            ),
            (name,),
            ops=(op.index,),
            cures=at_line(analysis, marked.get(name, -1), Undecorate),
        )


def _wrong_number(analysis: Analysis, run: Backward) -> Iterator[Problem]:
    for node in analysis.nodes_of(run):
        short = node.name.removesuffix("Backward")
        if node.op >= 0 and analysis.capture.ops[node.op].has(Trait.FUNCTION) and node.name in run.error:
            inner = analysis.capture.function_sites.get(short, -1)
            refused = [int(number) for number in _INDEX.findall(run.error)]
            yield Problem(
                "error",
                f"{short}.backward returns gradients that do not fit its inputs: {run.error.split(':', 1)[-1].strip()[:200]}",
                f"Return exactly one gradient for each argument of {short}.forward, each with the shape of that argument.",
                analysis.places(
                    *((site, "this gradient is computed here") for site in deciding_sites(analysis, short, refused)),
                    (inner, "backward is defined here"),
                    (analysis.capture.ops[node.op], "applied here"),
                ),
                (short,),
                ops=(node.op,),
                cures=(
                    *_completed(analysis, run, inner),
                    *_in_order(analysis, run, analysis.capture.ops[node.op], inner),
                ),
            )
            return


def _in_order(analysis: Analysis, run: Backward, applied: Op, defined: int) -> Iterator[Remedies]:
    """The gradient at the index that torch refused changes places with that of the input which has its shape."""
    refused = _REFUSED.search(run.error)
    place = analysis.capture.place(defined) if defined >= 0 else None
    if refused is None or place is None:
        return
    index, got, expected = int(refused[1]), *(_shape(text) for text in refused.groups()[1:])
    shapes = [analysis.capture.tensors[t].shape for t in applied.inputs]
    others = [number for number, shape in enumerate(shapes) if shape == got and number != index]
    if len(others) == 1 and index < len(shapes) and shapes[index] == expected:
        yield (SwapReturned(place, index, others[0]),)


_INDEX = re.compile(r"at index (\d+) - ")
_REFUSED = re.compile(r"at index (\d+) - got \[([\d, ]*)\] but expected shape compatible with \[([\d, ]*)\]")


def _shape(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in text.split(",") if size.strip())


def _completed(analysis: Analysis, run: Backward, defined: int) -> Iterator[Remedies]:
    """None for the arguments that backward forgets, the last ones: in most cases they are no tensors."""
    numbers = says(run.error, TorchError.WRONG_GRADIENTS)
    place = analysis.capture.place(defined) if defined >= 0 else None
    if numbers is None or not numbers[1] or place is None:
        return
    expected, returned = int(numbers[1]), int(numbers[2])
    if returned < expected:
        yield (ReturnAlso(place, expected - returned),)
