"""AG413: updates that are too small for the parameters' dtype. Needs values."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import nn

from .programs import diagnosed
from .twins import calm


def trained(dtype, lr=1e-6, kind=torch.optim.SGD):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    net = net.to(dtype)  # Cast.
    with torch.no_grad():
        for p in net.parameters():
            p.add_(torch.where(p >= 0, 0.1, -0.1).to(dtype))
    optimizer = kind(net.parameters(), lr=lr)
    x = torch.randn(8, 4, dtype=dtype)
    for _ in range(2):
        optimizer.zero_grad()
        net(x).pow(2).mean().backward()
        optimizer.step()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("kind", [torch.optim.SGD, partial(torch.optim.AdamW, eps=1e-4)])
def test_updates_below_the_precision_of_the_weights(dtype, kind):
    """No step changes a bit of them: told where they were cast."""
    name = str(dtype).removeprefix("torch.")
    diagnosed(
        lambda: trained(dtype, kind=kind), "AG413", "Cast.", "0.weight", name, "rounded away",
        severity="warning", where=trained, values=True,
    )  # fmt: skip


@pytest.mark.parametrize(("dtype", "lr"), [(torch.bfloat16, 0.1), (torch.float32, 1e-6)])
def test_updates_that_arrive(dtype, lr):
    """A larger update, or numbers of four bytes."""
    calm(lambda: trained(dtype, lr))
