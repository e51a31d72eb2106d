"""A hand-made loss scale: the norm is taken, and the clip applied, before the gradients are divided."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    opt = torch.optim.SGD(net.parameters(), 0.1)
    scale, norms = 1024.0, []
    for _ in range(2):
        opt.zero_grad()
        loss = net(torch.randn(8, 4)).pow(2).mean()
        (loss * scale).backward()
        norm = torch.stack([p.grad.norm() for p in net.parameters()]).norm()
        factor = (1.0 / (norm + 1e-6)).clamp(max=1.0)
        for p in net.parameters():
            p.grad.mul_(factor)  # cause
            p.grad.div_(scale)
        norms.append(torch.stack([p.grad.norm() for p in net.parameters()]).norm().item())
        opt.step()
    return norms


def verify(out):
    assert max(out) < 0.01


TRUTH = Truth(
    fault="the clip sees gradients that are still scaled",
    repair=("p.grad.mul_((scale / (norm + 1e-6)).clamp(max=1.0))",),
)
