"""Gradient descent by hand without no_grad."""

import torch

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    w = torch.randn(3, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    x = torch.randn(20, 3)
    y = x @ torch.tensor([1.0, -2.0, 0.5]) + 0.3
    for _ in range(3):
        loss = (x @ w + b - y).pow(2).mean()
        loss.backward()
        w -= 0.1 * w.grad  # cause
        b -= 0.1 * b.grad  # cause
        w.grad.zero_()
        b.grad.zero_()
    return w


TRUTH = Truth(
    fault="a leaf is updated in place while autograd records",
    raises="a leaf Variable that requires grad is being used in an in-place operation",
    names=("no_grad",),
    repair=(
        "with torch.no_grad():\n    w -= 0.1 * w.grad",
        "with torch.no_grad():\n    b -= 0.1 * b.grad",
    ),
)
