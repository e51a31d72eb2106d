"""GAN: the critic is frozen for the generator's step and thawed for its own; both nets and both losses are compiled."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth()


def setup():
    torch.manual_seed(0)


@torch.compile(backend=BACKEND)
def hinge(real, fake):
    return torch.relu(1 - real).mean() + torch.relu(1 + fake).mean()


def run():
    generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2, inplace=True), nn.Linear(16, 1))
    make, judge = torch.compile(generator, backend=BACKEND), torch.compile(critic, backend=BACKEND)
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.0, 0.9))
    optimizer_d = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))
    starts = [p.detach().clone() for p in [*generator.parameters(), *critic.parameters()]]
    stray = []
    for _ in range(3):
        critic.requires_grad_(True)
        fake = make(torch.randn(16, 4))
        loss_d = hinge(judge(torch.randn(16, 2) + 2), judge(fake.detach()))
        optimizer_d.zero_grad()
        loss_d.backward()
        stray.append(any(p.grad is not None and p.grad.any() for p in generator.parameters()))
        optimizer_d.step()

        critic.requires_grad_(False)
        optimizer_d.zero_grad()
        loss_g = -judge(fake).mean()
        optimizer_g.zero_grad()
        loss_g.backward()
        stray.append(any(p.grad is not None for p in critic.parameters()))
        optimizer_g.step()
        optimizer_g.zero_grad()
    ends = [p.detach() for p in [*generator.parameters(), *critic.parameters()]]
    return stray, starts, ends


def verify(outcome):
    stray, starts, ends = outcome
    assert not any(stray)
    assert all(not torch.equal(a, b) for a, b in zip(starts, ends[:-1]))
