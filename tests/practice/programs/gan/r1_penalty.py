"""StyleGAN-like training with a lazy R1 penalty: the gradient of the critic is taken without create_graph."""

import torch
import torch.nn.functional as F
from torch import autograd, nn

from tests.practice.truth import Truth


class Mapping(nn.Sequential):
    def __init__(self, latent=8, width=16):
        super().__init__(nn.Linear(latent, width), nn.LeakyReLU(0.2), nn.Linear(width, width), nn.LeakyReLU(0.2))


class Generator(nn.Module):
    def __init__(self, latent=8, size=8):
        super().__init__()
        self.latent, self.size = latent, size
        self.mapping = Mapping(latent)
        self.synthesis = nn.Sequential(nn.Linear(16, 64), nn.LeakyReLU(0.2), nn.Linear(64, size * size))

    def forward(self, z):
        return self.synthesis(self.mapping(z)).view(-1, 1, self.size, self.size)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 8, 3, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(8, 16, 3, 2, 1), nn.LeakyReLU(0.2)
        )
        self.out = nn.Linear(16 * 4, 1)

    def forward(self, x):
        return self.out(self.net(x).flatten(1))


def r1_penalty(disc, real):
    real = real.detach().requires_grad_(True)
    scores = disc(real)
    (grad,) = autograd.grad(outputs=scores.sum(), inputs=real)  # cause
    return grad.square().flatten(1).sum(1).mean()


class Trainer:
    def __init__(self, gamma=10.0, r1_every=2):
        self.g, self.d = Generator(), Discriminator()
        self.opt_g = torch.optim.Adam(self.g.parameters(), lr=2e-3, betas=(0.0, 0.99))
        self.opt_d = torch.optim.Adam(self.d.parameters(), lr=2e-3, betas=(0.0, 0.99))
        self.gamma, self.r1_every, self.steps = gamma, r1_every, 0

    def d_step(self, real):
        with torch.no_grad():
            fake = self.g(torch.randn(len(real), self.g.latent))
        loss = F.softplus(-self.d(real)).mean() + F.softplus(self.d(fake)).mean()
        penalty = None
        if self.steps % self.r1_every == 0:
            penalty = r1_penalty(self.d, real)
            loss = loss + 0.5 * self.gamma * self.r1_every * penalty
        self.opt_d.zero_grad(set_to_none=True)
        loss.backward()
        self.opt_d.step()
        return penalty

    def g_step(self, n):
        self.d.requires_grad_(False)
        loss = F.softplus(-self.d(self.g(torch.randn(n, self.g.latent)))).mean()
        self.opt_g.zero_grad(set_to_none=True)
        loss.backward()
        self.opt_g.step()
        self.d.requires_grad_(True)


def run():
    torch.manual_seed(0)
    trainer, penalties = Trainer(), []
    for _ in range(4):
        real = torch.randn(8, 1, 8, 8).cumsum(-1) * 0.3
        penalty = trainer.d_step(real)
        trainer.g_step(8)
        trainer.steps += 1
        if penalty is not None:
            penalties.append(penalty)
    return penalties


def verify(penalties):
    assert len(penalties) == 2
    assert all(p.item() > 0 and p.grad_fn is None for p in penalties)


TRUTH = Truth(
    fault="without create_graph the penalty has no graph: R1 is added to the loss and regularises nothing",
    names=("create_graph", "r1_penalty", "penalty"),
    repair=("(grad,) = autograd.grad(outputs=scores.sum(), inputs=real, create_graph=True)",),
)
