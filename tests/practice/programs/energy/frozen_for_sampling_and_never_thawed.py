"""The energy is frozen while negatives are drawn; the sampler returns before it is thawed."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Energy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.SiLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def langevin(energy, x, steps=5, step=0.1):
    for p in energy.parameters():
        p.requires_grad_(False)  # cause
    x = x.clone().requires_grad_()
    for i in range(steps):
        slope = torch.autograd.grad(energy(x).sum(), x)[0]
        x = (x - step * slope + 0.05 * torch.randn_like(x)).detach().requires_grad_()
        if i == steps - 1:
            return x.detach()  # also
    for p in energy.parameters():
        p.requires_grad_(True)
    return x.detach()


def run():
    torch.manual_seed(0)
    energy = Energy()
    opt = torch.optim.Adam(energy.parameters(), lr=1e-3)
    for _ in range(3):
        data = torch.randn(32, 2) * torch.tensor([1.0, 0.2])
        negatives = langevin(energy, torch.rand(32, 2) * 4 - 2)
        loss = energy(data).mean() - energy(negatives).mean()
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()


TRUTH = Truth(
    fault="all parameters of the energy are still frozen when its loss is formed",
    raises="element 0 of tensors does not require grad",
    names=("requires_grad",),
    repair=("p.requires_grad_(True)",),
)
