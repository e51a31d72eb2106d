"""Programs of other folders in compiled form: the forwards of their modules are compiled, nothing else is changed."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch._dynamo
from torch import nn
from torch._dynamo.utils import counters

from autograd_inspector import Report, inspect

Said = list[tuple[str, str, tuple[int, ...]]]
"""(rule, severity, the lines of the program) of each error and warning."""


@contextlib.contextmanager
def compiled(module: types.ModuleType, backend: str, also: Sequence[tuple[Any, str]] = ()) -> Iterator[None]:
    """Compile the forward of each module class that a program defines, those of ``nn.Sequential``, and ``also``."""
    own = [
        (cls, "forward")
        for cls in vars(module).values()
        if isinstance(cls, type) and issubclass(cls, nn.Module) and cls.__module__ == module.__name__
        if isinstance(vars(cls).get("forward"), types.FunctionType)
    ]
    places = [*own, (nn.Sequential, "forward"), *also]
    before = [vars(owner)[name] for owner, name in places]
    torch._dynamo.reset()
    counters.clear()
    for (owner, name), function in zip(places, before, strict=True):
        setattr(owner, name, torch.compile(function, backend=backend))
    try:
        yield
    finally:
        for (owner, name), function in zip(places, before, strict=True):
            setattr(owner, name, function)
        torch._dynamo.reset()


def graphs() -> int:
    """How many graphs Dynamo has made since compiling began."""
    return int(counters["stats"].get("unique_graphs", 0))


def observed(run: Any, *, values: bool = False) -> tuple[Report, BaseException | None]:
    """What is reported of a program, and what ended it."""
    error: BaseException | None = None
    try:
        with inspect(values=values) as inspection:
            run()
    except Exception as raised:
        error = raised
    return inspection.report, error


def said_of(report: Report, filename: str) -> Said:
    """Errors and warnings, with the lines of that file, in an order that does not depend on the report's."""
    return sorted(
        (f.rule, f.severity, tuple(sorted({at.lineno for at in f.locations if at.filename == filename})))
        for f in report.findings
        if f.severity != "info"
    )
