"""The generated weights are written into the target's `.data`: the hypernetwork gets no gradient."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    hyper, target = nn.Linear(2, 6), nn.Linear(3, 2, bias=False)
    opt = torch.optim.Adam(hyper.parameters(), 1e-2)
    before = hyper.weight.detach().clone()
    for _ in range(2):
        weight = hyper(torch.randn(2)).view(2, 3)
        target.weight.data = weight  # cause
        loss = target(torch.randn(4, 3)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return torch.equal(before, hyper.weight)


def verify(out):
    assert out


TRUTH = Truth(
    fault="writing to .data leaves the graph",
    repair=("target = lambda x: x @ weight.T",),
)
