"""JAX to PyTorch: a custom_vjp with nondiff_argnums became an autograd.Function; its two cotangents come back in the wrong order."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Gate(torch.autograd.Function):
    """y = x * sigmoid(s), with the gradient of the gate clipped."""

    @staticmethod
    def forward(ctx, x, scores, limit):
        gate = torch.sigmoid(scores)
        ctx.save_for_backward(x, gate)
        ctx.limit = limit
        return x * gate

    @staticmethod
    def backward(ctx, cotangent):
        x, gate = ctx.saved_tensors
        x_bar = cotangent * gate
        scores_bar = (cotangent * x * gate * (1 - gate)).clamp(-ctx.limit, ctx.limit)
        return scores_bar, x_bar, None  # cause


class GatedMLP(nn.Module):
    def __init__(self, dim=8, width=16):
        super().__init__()
        self.value = nn.Linear(dim, width)
        self.gate = nn.Linear(dim, width)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(Gate.apply(self.value(x), self.gate(x), 1.0))


def run():
    torch.manual_seed(0)
    model = GatedMLP()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(3):
        x = torch.randn(16, 8)
        loss = (model(x).squeeze(-1) - x.prod(dim=1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    x = torch.randn(3, 4, dtype=torch.double, requires_grad=True)
    s = torch.randn(3, 4, dtype=torch.double, requires_grad=True)
    return torch.autograd.grad(Gate.apply(x, s, 10.0).sum(), x)[0], torch.sigmoid(s.detach())


def verify(outcome):
    gradient, right = outcome
    assert not torch.allclose(gradient, right)


TRUTH = Truth(
    fault="the custom backward returns the gradients of its two inputs in swapped order",
    names=("Gate",),
    repair=("return x_bar, scores_bar, None",),
)
