"""A hand-made loss scale: the optimizer steps with gradients that are 1024 times too large."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    opt = torch.optim.SGD(net.parameters(), 1e-3)
    scale, moves = 1024.0, []
    for _ in range(2):
        before = net.weight.detach().clone()
        opt.zero_grad()
        loss = net(torch.randn(8, 4)).pow(2).mean()
        (loss * scale).backward()  # cause
        norm = torch.stack([(p.grad / scale).norm() for p in net.parameters()]).norm()
        if torch.isfinite(norm):
            opt.step()  # also
        moves.append((net.weight - before).abs().max().item())
    return moves


def verify(out):
    assert min(out) > 0.05


TRUTH = Truth(
    fault="the gradients are still scaled when the optimizer steps",
    repair=("(loss * scale).backward()\nfor p in net.parameters():\n    p.grad.div_(scale)",),
)
