"""SAM with the gradients cleared between its two backwards."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    x, y = torch.randn(16, 4), torch.randint(0, 2, (16,))
    for _ in range(2):
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        with torch.no_grad():
            norm = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
            shifts = [p.grad * (0.05 / norm) for p in net.parameters()]
            for p, e in zip(net.parameters(), shifts):
                p.add_(e)
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        with torch.no_grad():
            for p, e in zip(net.parameters(), shifts):
                p.sub_(e)
        opt.step()


TRUTH = Truth()
