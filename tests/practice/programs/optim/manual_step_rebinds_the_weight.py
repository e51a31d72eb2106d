"""Gradient descent by hand: the new weight is made under no_grad and no longer requires grad."""

import torch

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    w = torch.randn(3, 1, requires_grad=True)
    x = torch.randn(20, 3)
    y = x.sum(1, keepdim=True)
    for _ in range(3):
        loss = (x @ w - y).pow(2).mean()
        loss.backward()  # symptom
        with torch.no_grad():  # also
            w = w - 0.1 * w.grad  # cause
    return w


TRUTH = Truth(
    fault="the weight is replaced by one that does not require grad",
    raises="element 0 of tensors does not require grad and does not have a grad_fn",
    repair=("w -= 0.1 * w.grad\nw.grad = None",),
)
