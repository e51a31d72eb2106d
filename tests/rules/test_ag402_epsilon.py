"""AG402: an eps that the dtype of the optimizer's state does not have."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import nn

from .programs import diagnosed
from .twins import calm


def trained(dtype, make):
    net = nn.Linear(4, 2).to(dtype)
    optimizer = make(net.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        (net(torch.ones(3, 4, dtype=dtype)).float() - 2).pow(2).mean().backward()
        optimizer.step()


@pytest.mark.parametrize("make", [torch.optim.Adam, torch.optim.RMSprop, partial(torch.optim.AdamW, eps=1e-9)])
def test_epsilon_that_rounds_to_zero(make):
    """Adam and its like keep their state in the parameters' float16: the default eps is 0 there."""

    def program():
        trained(torch.float16, make)

    finding = diagnosed(program, "AG402", "optimizer = make", "weight", "eps", severity="warning", where=trained)
    assert "eps=1e-4" in finding.fix


@pytest.mark.parametrize(
    ("dtype", "make"),
    [
        (torch.float16, lambda p: torch.optim.Adam(p, eps=1e-4)),
        (torch.float16, lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9)),
        (torch.bfloat16, torch.optim.Adam),
        (torch.float32, torch.optim.Adam),
        (torch.float16, lambda p: torch.optim.Adam(p, fused=True)),
    ],
)
def test_epsilon_that_is_there(dtype, make):
    """An eps that float16 has, no eps, dtypes with smaller numbers, kernels that compute in float32."""
    calm(lambda: trained(dtype, make))
