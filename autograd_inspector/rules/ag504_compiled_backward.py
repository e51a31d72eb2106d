"""AG504: compiled code that is differentiated as only uncompiled code can be."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.compiled_code import compiled_op_of
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op
from autograd_inspector.model.remedy import Remedies, Wrap
from autograd_inspector.model.torch_errors import TorchError, says
from autograd_inspector.model.torch_names import BACKWARD_OF_COMPILED
from autograd_inspector.model.wording import agree, join_names

_SHOWN = 3
_UNCOMPILED = 'torch.compiler.set_stance("force_eager")'


def check(analysis: Analysis) -> Iterator[Problem]:
    """The gradient of compiled code is differentiated again, or its graph is kept after a backward that kept none.

    Why it matters
        AOTAutograd, which most backends of torch.compile use, compiles one backward. That backward has no derivative: a
        gradient penalty or a Hessian of compiled code raises. And once it is compiled for graphs that are not kept, it
        reuses the memory of what forward saved, so `retain_graph=True` raises from then on.

    Example
        ::

            critic = torch.compile(head, backend="aot_eager")
            x.requires_grad_()
            (slope,) = torch.autograd.grad(critic(x).sigmoid().sum(), x, create_graph=True)
            (slope.norm() - 1).pow(2).backward()

    Fix
        ::

            critic = torch.compile(head, backend="aot_eager")
            x.requires_grad_()
            with torch.compiler.set_stance("force_eager"):
                (slope,) = torch.autograd.grad(critic(x).sigmoid().sum(), x, create_graph=True)
            (slope.norm() - 1).pow(2).backward()

    References
        torch.compiler.set_stance; pytorch/pytorch#91469, pytorch/pytorch#130580.
    """
    for run in analysis.capture.backwards:
        if says(run.error, TorchError.COMPILED_TWICE):
            yield _differentiated_again(analysis, run)
        elif says(run.error, TorchError.SAVED_REUSED):
            yield _kept(analysis, run)


def _differentiated_again(analysis: Analysis, run: Backward) -> Problem:
    """A derivative of the backward of compiled code."""
    nodes = analysis.nodes_of(run)
    applied = [analysis.capture.ops[node.op] for node in nodes if node.name == BACKWARD_OF_COMPILED and node.op >= 0]
    codes: dict[int, Op] = {}
    first: Backward | None = None
    for op in applied:
        containing = _containing(analysis, op)
        first = first or containing
        code = compiled_op_of(analysis.capture, analysis.nodes_of(containing or run), op)
        if code is not None:
            codes[code.index] = code
    names = list(dict.fromkeys(_name(codes[index]) for index in sorted(codes, reverse=True))) or [_name(None)]
    last = codes[max(codes)] if codes else None
    return Problem(
        "error",
        f"{join_names(names)} {agree(names, 'is', 'are')} compiled, and this backward() needs the derivative of "
        f"{agree(names, 'its', 'their')} backward, which AOTAutograd does not compile",
        f"Run {join_names(names)} uncompiled where {agree(names, 'its', 'their')} gradient is differentiated, with "
        f'`{_UNCOMPILED}:` around the call, or compile {agree(names, "it", "them")} with `backend="eager"`.',
        analysis.places(
            *((codes[index], "compiled code runs here") for index in sorted(codes, reverse=True)[:_SHOWN]),
            (first, "the gradient is taken here with create_graph=True"),
            (run, "that gradient is differentiated here"),
        ),
        tuple(names),
        ops=tuple(codes),
        cures=tuple(_uncompiled(analysis, last)) if len(codes) == 1 else (),
    )


def _kept(analysis: Analysis, run: Backward) -> Problem:
    """A graph is kept for another backward, and the compiled one gives away what it is made of."""
    failed = [node for node in analysis.nodes_of(run) if node.failed]
    code = compiled_op_of(analysis.capture, failed, None)
    name = _name(code)
    earlier = next(
        (
            each
            for each in analysis.capture.backwards[: run.index]
            if not (each.retain_graph or each.create_graph or each.error)
            and any(node.op >= 0 and _name(analysis.capture.ops[node.op]) == name for node in analysis.nodes_of(each))
        ),
        None,
    )
    keeps = "create_graph=True" if run.create_graph else "retain_graph=True"
    once = "Run" if run.create_graph else "Add the losses up and call backward() once, or run"
    return Problem(
        "error",
        f"{keeps} keeps the graph of {name}, which is compiled: its backward was compiled for graphs that are not kept, "
        "and reuses the memory of what forward saved",
        f"{once} {name} uncompiled there, with `{_UNCOMPILED}:` around its call; "
        "`torch._functorch.config.donated_buffer = False` before it is compiled lets its graphs be kept.",
        analysis.places(
            (run, "the graph is kept here"),
            (code, "compiled code runs here"),
            (earlier, "its backward is compiled here, for a graph that is not kept"),
        ),
        (name,),
        ops=(code.index,) if code is not None else (),
        cures=tuple(_uncompiled(analysis, code)),
    )


def _containing(analysis: Analysis, op: Op | None) -> Backward | None:
    """The run of the engine that an op is part of, or that returned what the op stands for."""
    for each in analysis.capture.backwards:
        if op is not None and (each.start <= op.index < each.end or (op.name, op.index) == (each.api, each.end)):
            return each
    return None


def _name(code: Op | None) -> str:
    return code.name.removeprefix("compiled ") if code is not None else "the compiled code"


def _uncompiled(analysis: Analysis, code: Op | None) -> Iterator[Remedies]:
    for place in analysis.user_frames(code.site, "")[:1] if code is not None else ():
        yield (Wrap(place, f"with {_UNCOMPILED}:"),)
