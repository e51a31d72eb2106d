"""``%autograd_inspect EXPR``: which inspection fits a live object.

Objects are known by what they offer, so that this side of the house needs no torch.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from autograd_inspector.notebook.options import Options, mistaken
from autograd_inspector.report import Report


def report_on(value: Any, expression: str, named: dict[str, Any], options: Options) -> Report:
    """The report on a tensor's graph, an optimizer or a model; nothing of the user's is run."""
    __tracebackhide__ = True
    if not (
        _is_optimizer(value)
        or _is_model(value)
        or (hasattr(value, "grad_fn") and hasattr(value, "requires_grad"))
    ):
        kind = type(value).__name__
        raise mistaken(
            f"{expression!r} is of type {kind}; a tensor, an optimizer, a model or a report is wanted"
        )
    from autograd_inspector import live

    model = next((other for other in named.values() if _is_model(other)), None)
    if _is_optimizer(value):
        report: Report = live.inspect_optimizer(value, model=model)
    elif _is_model(value):
        optimizer = next((other for other in named.values() if _is_optimizer(other)), None)
        report = live.inspect_optimizer(optimizer, model=value)
    else:
        report = live.inspect_graph(value)
    kept = tuple(
        finding for finding in report.findings if not finding.rule.startswith(options.ignore or ("-",))
    )
    return replace(report, findings=kept, ignored=report.ignored + len(report.findings) - len(kept))


def picture_of(value: Any, named: dict[str, Any]) -> Any:
    """The picture that torchviz itself draws, with our names for the parameters."""
    from autograd_inspector.integrations import torchviz

    __tracebackhide__ = True
    return torchviz.picture(value, *(model for model in named.values() if _is_model(model)))


def _is_model(value: Any) -> bool:
    return callable(getattr(value, "named_parameters", None))


def _is_optimizer(value: Any) -> bool:
    return isinstance(getattr(value, "param_groups", None), list)
