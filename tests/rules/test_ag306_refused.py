"""AG306: a gradient that torch refuses."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed


@pytest.mark.parametrize(
    ("made", "what"),
    [
        (lambda p: p.grad, "dtype"),
        (lambda p: p.grad.float()[:1], "size"),
        (lambda p: p.grad.float().to("meta"), "device"),
    ],
)
def test_a_gradient_that_does_not_fit(made, what):
    """The line that assigns it is pointed at, and what is wrong with it is said."""

    def program():
        net = nn.Linear(4, 2).bfloat16()
        copies = [p.detach().float().requires_grad_() for p in net.parameters()]
        optimizer = torch.optim.SGD(copies, lr=0.1)
        net(torch.ones(3, 4).bfloat16()).mean().backward()
        for q, p in zip(copies, net.parameters(), strict=True):
            q.grad = made(p)
        optimizer.step()

    diagnosed(program, "AG306", "q.grad = made(p)", what, severity="error")
