"""Losses, gradients' effects, random streams and memory are those of a run without the inspector."""

from __future__ import annotations

import gc

import pytest
import torch

from autograd_inspector import inspect

from .programs import PROGRAMS

STEPS = 4


def run(name: str, device: torch.device, *, inspected: bool) -> tuple[list[float], int, int]:
    """The losses and one number of the random stream; bytes at the peak and at the end, above those at the begin."""
    gc.collect()
    torch.manual_seed(0)
    step = PROGRAMS[name](device)
    step()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    if inspected:
        with inspect() as inspection:
            losses = [step() for _ in range(STEPS)]
        assert inspection.report
    else:
        losses = [step() for _ in range(STEPS)]
    numbers = [loss.item() for loss in losses] + [torch.rand((), device=device).item()]
    del losses
    return numbers, torch.cuda.max_memory_allocated() - before, torch.cuda.memory_allocated() - before


@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_and_memory(name, device):
    """A run in a block gives the same losses and random numbers, and holds no byte of the device more."""
    with torch.backends.cudnn.flags(deterministic=True, benchmark=False):
        run(name, device, inspected=False)  # The libraries take their workspaces.
        plain = run(name, device, inspected=False)
        assert run(name, device, inspected=True) == plain
