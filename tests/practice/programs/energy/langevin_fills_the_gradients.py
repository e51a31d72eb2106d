"""The sampler calls `backward()` and so adds to the model's gradients after they were cleared."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    energy = nn.Sequential(nn.Linear(2, 8), nn.SiLU(), nn.Linear(8, 1))
    opt = torch.optim.Adam(energy.parameters(), 1e-3)
    same = []
    for _ in range(2):
        opt.zero_grad()
        x = torch.randn(16, 2)
        for _ in range(3):
            x = x.detach().requires_grad_()
            energy(x).sum().backward()  # cause
            x = x - 0.1 * x.grad
        loss = energy(torch.randn(16, 2)).mean() - energy(x.detach()).mean()
        alone = torch.autograd.grad(loss, energy[0].weight, retain_graph=True)[0]
        loss.backward()
        same.append(torch.equal(alone, energy[0].weight.grad))
        opt.step()
    return same


def verify(out):
    assert out == [False, False]


TRUTH = Truth(
    fault="the sampler's gradients are part of the step",
    repair=("x.grad = torch.autograd.grad(energy(x).sum(), x)[0]",),
)
