"""Run a healthy program under inspection and hold the report to it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

import autograd_inspector

X, Y = torch.randn(8, 4), torch.randint(0, 2, (8,))


def mlp(inputs: int = 4, outputs: int = 2) -> nn.Sequential:
    """A small network."""
    return nn.Sequential(nn.Linear(inputs, 8), nn.LeakyReLU(0.1, inplace=True), nn.Linear(8, outputs))


def stepped(optimizer: torch.optim.Optimizer, loss: torch.Tensor) -> None:
    """One training step."""
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def assert_quiet(program: Callable[[], Any], *, values: bool = False) -> None:
    """The program ends well, and the report has no error, no warning and no rule that failed."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with autograd_inspector.inspect(values=values) as inspection:
            program()
    report = inspection.report
    loud = [f for f in report.findings if f.severity != "info"]
    listing = "\n".join(
        f"{f.rule} {f.severity}: {f.message}\n    {[place.place for place in f.locations]}" for f in loud
    )
    assert not loud, listing
    assert not [note for note in report.notes if "failed" in note], report.notes


def two_steps(model: torch.nn.Module, loss: Callable[[torch.nn.Module], torch.Tensor]) -> Callable[[], None]:
    """A plain training loop: AdamW over all parameters, clipped gradients, two steps."""

    def program() -> None:
        optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
        for _ in range(2):
            optimizer.zero_grad()
            loss(model).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()

    return program
