"""WGAN-GP critic step with a compiled critic."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class Critic(nn.Module):
    def __init__(self, d=4):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 16), nn.Softplus(), nn.Linear(16, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def penalty(critic, real, fake):
    t = torch.rand(len(real), 1)
    mid = (t * real + (1 - t) * fake).requires_grad_()
    (g,) = torch.autograd.grad(critic(mid).sum(), mid, create_graph=True)
    return (g.norm(dim=1) - 1).square().mean()


def run():
    torch.manual_seed(0)
    plain = Critic()
    critic = torch.compile(plain, backend="aot_eager")
    opt = torch.optim.Adam(plain.parameters(), lr=1e-3)
    gaps = []
    for _ in range(3):
        real, fake = torch.randn(8, 4) + 1, torch.randn(8, 4)
        gap = critic(fake).mean() - critic(real).mean()
        gp = penalty(critic, real, fake)  # cause
        opt.zero_grad()
        (gap + 10 * gp).backward()
        opt.step()
        gaps.append(gap.item())
    return gaps


def right(gaps):
    assert len(gaps) == 3


TRUTH = Truth(
    fault="the gradient penalty needs second derivatives through a compiled graph",
    raises="torch.compile with aot_autograd does not currently support double backward",
    repair=("gp = penalty(plain, real, fake)",),
)
