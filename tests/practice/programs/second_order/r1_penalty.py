"""R1 penalty as a norm: the critic starts constant, and the root of a zero square has an infinite slope."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Critic(nn.Module):
    def __init__(self, dim=4, hidden=12):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(dim, hidden), nn.LeakyReLU(0.2), nn.Linear(hidden, hidden), nn.LeakyReLU(0.2)
        )
        self.out = nn.Linear(hidden, 1)
        nn.init.zeros_(self.out.weight)  # start neutral
        nn.init.zeros_(self.out.bias)

    def forward(self, x):
        return self.out(self.body(x)).squeeze(-1)


def input_gradient_norm(scores, x):
    (g,) = torch.autograd.grad(scores.sum(), x, create_graph=True)
    return g.pow(2).sum(dim=1).sqrt()  # cause


def critic_loss(critic, real, fake, gamma):
    real = real.detach().requires_grad_(True)
    d_real, d_fake = critic(real), critic(fake.detach())
    penalty = input_gradient_norm(d_real, real).mean()
    return F.softplus(-d_real).mean() + F.softplus(d_fake).mean() + gamma / 2 * penalty


def run():
    torch.manual_seed(0)
    critic = Critic()
    gen = nn.Sequential(nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 4))
    opt_c = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.0, 0.99))
    opt_g = torch.optim.Adam(gen.parameters(), lr=2e-4, betas=(0.0, 0.99))
    losses = []
    for it in range(2):
        real, z = torch.randn(16, 4) + 1, torch.randn(16, 3)
        loss = critic_loss(critic, real, gen(z), gamma=1.0)
        opt_c.zero_grad()
        loss.backward()
        opt_c.step()
        g_loss = F.softplus(-critic(gen(z))).mean()
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()
        losses.append(loss.item())
        print(f"it {it} C {losses[-1]:.4f} G {g_loss.item():.4f}")
    return critic, losses


def verify(out):
    critic, losses = out
    assert losses[0] == losses[0] and critic.out.weight.isnan().any()


TRUTH = Truth(
    fault="the root of a zero gradient's square has no finite derivative",
    values=True,
    repair=("return (g.pow(2).sum(dim=1) + 1e-12).sqrt()",),
)
