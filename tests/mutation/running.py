"""Loads a program from its file, and runs it seeded and without a sound."""

from __future__ import annotations

import ast
import contextlib
import random
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

import autograd_inspector

NAME = "planted_program"


def loaded(path: Path, given: dict[str, Any] | None = None) -> ModuleType:
    """The module that a file defines; what its top level draws is always the same."""
    module = ModuleType(NAME)
    module.__file__ = str(path)
    module.__dict__.update(given or {})
    sys.modules[NAME] = module  # Dataclasses and pickles look their module up.
    seeded()
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)
    return module


def seeded() -> None:
    """Every generator that a program may draw from."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002  the programs use the one that there is
    torch.manual_seed(0)


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Warnings are of no interest here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def warm(texts: Iterable[str]) -> None:
    """Import what programs, torch and the inspector import when they are used: once for all forks.

    The programs' imports come first: the inspector's first use recompiles the functions of torch's that are there.
    """
    for text in texts:
        _import(text)
    with quietly(), torch.enable_grad(), autograd_inspector.inspect(values=True) as inspection:
        net = torch.nn.Linear(2, 2)
        optimizer = torch.optim.Adam(net.parameters())
        net(torch.ones(2)).sum().backward()
        optimizer.step()
    inspection.report.to_json()


def _import(text: str) -> None:
    imports = [each for each in ast.parse(text).body if isinstance(each, ast.Import | ast.ImportFrom)]
    with quietly():
        exec(compile(ast.Module(imports, []), "<imports>", "exec"), {})
