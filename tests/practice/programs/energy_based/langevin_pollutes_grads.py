"""Energy-based model: the Langevin sampler calls backward() between zero_grad and the loss, its gradients stay in the network."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Energy(nn.Module):
    def __init__(self, dim=2, hidden=24):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(dim, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 1)
        )

    def forward(self, x):
        return self.net(x).squeeze(-1)


class LangevinSampler:
    def __init__(self, model, steps=5, step_size=0.05):
        self.model, self.steps, self.step_size = model, steps, step_size

    def __call__(self, x):
        x = x.clone().requires_grad_(True)
        for _ in range(self.steps):
            self.model(x).sum().backward()  # cause
            with torch.no_grad():
                x -= self.step_size * x.grad
                x += 0.02 * torch.randn_like(x)
            x.grad = None
        return x.detach()


def contrastive_divergence(model, real, fake):
    regular = 0.1 * (model(real).square().mean() + model(fake).square().mean())
    return model(real).mean() - model(fake).mean() + regular


def two_moons(n):
    t = torch.pi * torch.rand(n)
    side = (torch.rand(n) < 0.5).float()
    return torch.stack([t.cos() + side, (1 - 2 * side) * t.sin() + 0.25 * side], 1)


def run():
    torch.manual_seed(0)
    model = Energy()
    sampler = LangevinSampler(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    mismatch = []
    for _ in range(3):
        real = two_moons(48)
        optimizer.zero_grad()
        fake = sampler(torch.randn(48, 2))
        loss = contrastive_divergence(model, real, fake)
        wanted = torch.autograd.grad(loss, model.parameters(), retain_graph=True)
        loss.backward()
        mismatch.append(max((p.grad - w).norm() / (w.norm() + 1e-8) for p, w in zip(model.parameters(), wanted)).item())
        optimizer.step()
    return mismatch


def verify(outcome):
    assert min(outcome) > 0.1


TRUTH = Truth(
    fault="the sampler's backward() adds the energy's gradients to the parameters before each step",
    names=("backward",),
    repair=("x.grad = torch.autograd.grad(self.model(x).sum(), x)[0]",),
)
