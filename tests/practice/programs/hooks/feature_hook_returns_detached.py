"""A forward hook that keeps features returns them detached, which replaces the layer's output."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
    feats = {}

    def save(name):
        def hook(module, args, out):
            feats[name] = out.detach()
            return feats[name]  # cause

        return hook

    net[2].register_forward_hook(save("mid"))
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(2):
        loss = nn.functional.cross_entropy(net(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(feats["mid"].norm())
    return net


def verify(out):
    assert out[0].weight.grad is None


TRUTH = Truth(fault="the hook's result takes the place of the output", names=("0.weight",), repair=("return None",))
