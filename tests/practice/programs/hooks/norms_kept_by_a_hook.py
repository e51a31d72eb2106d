"""Hooks that keep statistics and return nothing: a running mean of the norms, and the last gradient for a plot."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 2))
    norms, last = {}, {}

    def watch(name):
        def hook(grad):
            share = (grad == 0).float().mean()
            norms[name] = 0.9 * norms.get(name, 0.0) + 0.1 * grad.norm()
            last[name] = grad.clone()
            scaled = grad / (grad.norm() + 1e-8)
            if share > 2:
                print(scaled)

        return hook

    for name, p in net.named_parameters():
        p.register_hook(watch(name))
    opt = torch.optim.SGD(net.parameters(), 1e-2)
    for _ in range(3):
        opt.zero_grad()
        nn.functional.cross_entropy(net(torch.randn(8, 6)), torch.randint(2, (8,))).backward()
        opt.step()
    return norms, last


TRUTH = Truth()
