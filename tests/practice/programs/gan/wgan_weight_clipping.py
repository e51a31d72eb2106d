"""WGAN: the weights are clamped into a new tensor, not in place, so the critic is never clipped."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, 2, 1), nn.LeakyReLU(0.2, inplace=True))
        self.score = nn.Linear(8 * 4 * 4, 1)

    def forward(self, x):
        return self.score(self.features(x).flatten(1))


def set_trainable(net, flag):
    for p in net.parameters():
        p.requires_grad = flag


def run(c=0.01, n_critic=3):
    torch.manual_seed(0)
    critic = Critic()
    gen = nn.Sequential(nn.Linear(6, 64), nn.Tanh(), nn.Unflatten(1, (1, 8, 8)))
    opt_c = torch.optim.RMSprop(critic.parameters(), lr=5e-5)
    opt_g = torch.optim.RMSprop(gen.parameters(), lr=5e-5)
    for _ in range(2):
        set_trainable(critic, True)
        for _i in range(n_critic):
            real = torch.rand(4, 1, 8, 8)
            fake = gen(torch.randn(4, 6)).detach()
            loss_c = critic(fake).mean() - critic(real).mean()
            opt_c.zero_grad()
            loss_c.backward()
            opt_c.step()
            for p in critic.parameters():
                p.data.clamp(-c, c)  # cause
        set_trainable(critic, False)
        loss_g = -critic(gen(torch.randn(4, 6))).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
    return critic


def verify(critic):
    assert max(p.abs().max() for p in critic.parameters()) > 0.02


TRUTH = Truth(
    fault="the result of clamp is thrown away: the weights are not clipped",
    names=("clamp",),
    repair=("p.data.clamp_(-c, c)",),
)
