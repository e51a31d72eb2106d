"""A hand-made dynamic loss scale: skipped where the gradients overflow, divided before clip and step."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    opt = torch.optim.SGD(net.parameters(), 0.1)
    scale = 2.0**12
    for step in range(4):
        x, y = torch.randn(8, 8), torch.randint(2, (8,))
        opt.zero_grad()
        (nn.functional.cross_entropy(net(x), y) * scale).backward()
        grads = [p.grad for p in net.parameters()]
        torch._foreach_div_(grads, scale)
        if all(torch.isfinite(g).all() for g in grads):
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            scale *= 2 if step % 2 else 1
        else:
            scale /= 2
    return net


TRUTH = Truth()
