"""Progressive GAN: the standard deviation over the group has no epsilon; of equal images, its gradient is NaN."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class MinibatchStdDev(nn.Module):
    def __init__(self, group=4):
        super().__init__()
        self.group = group

    def forward(self, x):
        n, c, h, w = x.shape
        y = x.reshape(self.group, -1, c, h, w)
        y = y.var(0, unbiased=False).sqrt()  # cause
        y = y.mean([1, 2, 3], keepdim=True)
        return torch.cat([x, y.repeat(self.group, 1, h, w)], 1)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.from_rgb = nn.Conv2d(3, 8, 1)
        self.conv = nn.Conv2d(8, 8, 3, padding=1)
        self.stddev = MinibatchStdDev()
        self.final = nn.Conv2d(9, 8, 3)
        self.out = nn.Linear(8 * 4, 1)

    def forward(self, x):
        x = F.leaky_relu(self.conv(self.from_rgb(x)), 0.2)
        x = F.leaky_relu(self.final(self.stddev(x)), 0.2)
        return self.out(x.flatten(1))


def run():
    torch.manual_seed(0)
    gen = nn.Sequential(nn.Linear(8, 48), nn.Tanh(), nn.Unflatten(1, (3, 4, 4)))
    nn.init.zeros_(gen[0].weight)  # start from a flat grey image
    disc = Discriminator()
    g_opt = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.0, 0.99))
    d_opt = torch.optim.Adam(disc.parameters(), lr=1e-3, betas=(0.0, 0.99))
    for _ in range(2):
        real, fake = torch.rand(8, 3, 4, 4) * 2 - 1, gen(torch.randn(8, 8))
        d_loss = F.softplus(disc(fake.detach())).mean() + F.softplus(-disc(real)).mean()
        d_opt.zero_grad()
        d_loss.backward()
        d_opt.step()
        g_opt.zero_grad()
        F.softplus(-disc(fake)).mean().backward()
        g_opt.step()
    return disc


def verify(disc):
    assert disc.conv.weight.isnan().any()


TRUTH = Truth(
    values=True,
    fault="the gradient of sqrt at zero: NaN",
    repair=("y = (y.var(0, unbiased=False) + 1e-8).sqrt()",),
)
