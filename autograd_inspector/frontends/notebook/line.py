"""``%autograd_inspect EXPR``: which inspection fits a live object.

Objects are known by what they offer, so that this side of the house needs no torch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from autograd_inspector.api.report import Report
from autograd_inspector.kernel.options import Options, mistaken


def report_on(value: Any, expression: str, named: list[Any], namespace: dict[str, Any]) -> Report:
    """The report on a tensor's graph, an optimizer or a model; nothing of the user's is run.

    ``named`` are the objects that --model and --optimizer name; the rest is looked up in the user's namespace.
    """
    from autograd_inspector.api import inspect_live as live

    __tracebackhide__ = True
    if _is_optimizer(value):
        return live.inspect_optimizer(value, model=_models(named))
    if _is_model(value):
        optimizer = next((other for other in named if _is_optimizer(other)), None)
        return live.inspect_model(value) if optimizer is None else live.inspect_optimizer(optimizer, model=value)
    if hasattr(value, "grad_fn") and hasattr(value, "requires_grad"):
        models = _models(named) or _models(namespace.values())
        # Names of another model would mislead where several could be meant.
        return live.inspect_graph(value, model=models[0] if len(models) == 1 else None)
    kind = type(value).__name__
    raise mistaken(f"{expression!r} is of type {kind}; expected a tensor, an optimizer, a model or a report")


def without(report: Report, options: Options) -> Report:
    """The report without the findings that the user ignores."""
    kept = tuple(finding for finding in report.findings if not finding.rule.startswith(options.ignore or ("-",)))
    return replace(report, findings=kept, ignored=report.ignored + len(report.findings) - len(kept))


def picture_of(value: Any, named: list[Any], namespace: dict[str, Any]) -> Any:
    """The picture that torchviz itself draws, with our names for the parameters."""
    from autograd_inspector.integrations import torchviz

    __tracebackhide__ = True
    try:
        return torchviz.picture(value, *(_models(named) or _models(namespace.values())))
    except torchviz.PictureError as error:
        raise mistaken(str(error).removeprefix("autograd_inspector: ")) from None


def _models(values: Iterable[Any]) -> list[Any]:
    """The models among some values, each once, without those that are part of another."""
    models = {id(value): value for value in values if _is_model(value)}
    inner = {id(part) for value in models.values() for part in value.modules() if part is not value}
    return [value for key, value in models.items() if key not in inner]


def _is_model(value: Any) -> bool:
    return (
        not isinstance(value, type) and callable(getattr(value, "named_parameters", None)) and hasattr(value, "modules")
    )


def _is_optimizer(value: Any) -> bool:
    return isinstance(getattr(value, "param_groups", None), list)
