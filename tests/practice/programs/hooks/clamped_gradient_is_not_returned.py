"""A hook clamps the gradient into a new tensor and does not return it."""

import torch
from torch import nn

from tests.practice.truth import Truth


def clip(grad):
    grad = grad.clamp(-0.01, 0.01)  # cause


def run():
    torch.manual_seed(0)
    rnn, head = nn.GRU(4, 16, batch_first=True), nn.Linear(16, 1)
    parameters = [*rnn.parameters(), *head.parameters()]
    for p in parameters:
        p.register_hook(clip)  # also
    opt = torch.optim.SGD(parameters, 1e-2)
    largest = 0.0
    for _ in range(2):
        out, _ = rnn(torch.randn(6, 10, 4))
        opt.zero_grad()
        (head(out[:, -1]) - 50).pow(2).mean().backward()
        largest = max(largest, max(p.grad.abs().max().item() for p in parameters))
        opt.step()
    return largest


def verify(largest):
    assert largest > 0.011


TRUTH = Truth(
    fault="the hook returns nothing, so the gradient stays",
    names=("clamp",),
    repair=("return grad.clamp(-0.01, 0.01)",),
)
