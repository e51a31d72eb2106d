"""AG102: a custom Function under no_grad is cut off by the mode, and not by itself."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from .programs import diagnosed

X = torch.randn(3, 4, generator=torch.Generator().manual_seed(1))


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: Tensor) -> Tensor:
        ctx.save_for_backward(x, scale)
        return x * scale

    @staticmethod
    def backward(ctx: Any, *given: Tensor) -> tuple[Tensor, Tensor]:
        x, scale = ctx.saved_tensors
        return given[0] * scale, (given[0] * x).sum(0)


def test_a_function_called_in_a_decorated_one():
    """The decorator is named: the Function has a derivative."""
    body, scale = nn.Linear(4, 4), nn.Parameter(torch.ones(4))

    def program():
        optimizer = torch.optim.SGD([*body.parameters(), scale], lr=0.1)

        @torch.no_grad()  # Switched off.
        def scaled(x):
            return Scaled.apply(x, scale)

        scaled(body(X)).sum().backward()
        optimizer.step()

    diagnosed(program, "AG102", "Switched off.", "scale", "body.weight", severity="error")
