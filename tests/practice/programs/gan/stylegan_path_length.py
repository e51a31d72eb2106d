"""StyleGAN2: the running mean of the path lengths keeps the graph of the iteration before."""

import math

import torch
from torch import nn

from tests.practice.truth import Truth


class Mapping(nn.Module):
    def __init__(self, z=8, w=8):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(z, w), nn.LeakyReLU(0.2), nn.Linear(w, w))

    def forward(self, z):
        return self.fc(z * (z.pow(2).mean(1, keepdim=True) + 1e-8).rsqrt())


class Synthesis(nn.Module):
    def __init__(self, w=8, c=4):
        super().__init__()
        self.const = nn.Parameter(torch.randn(1, c, 4, 4))
        self.style = nn.Linear(w, c)
        self.conv = nn.Conv2d(c, c, 3, padding=1)
        self.to_rgb = nn.Conv2d(c, 3, 1)

    def forward(self, w):
        x = self.const * (1 + self.style(w))[..., None, None]
        return self.to_rgb(nn.functional.leaky_relu(self.conv(x), 0.2))


class PathLength:
    def __init__(self, decay=0.01):
        self.mean, self.decay = torch.zeros(()), decay

    def __call__(self, img, w):
        y = torch.randn_like(img) / math.sqrt(img.shape[2] * img.shape[3])
        (grad,) = torch.autograd.grad((img * y).sum(), w, create_graph=True)
        lengths = grad.pow(2).sum(1).sqrt()
        self.mean = self.mean.lerp(lengths.mean(), self.decay)  # cause
        return (lengths - self.mean).pow(2).mean()


def run():
    torch.manual_seed(0)
    mapping, synthesis = Mapping(), Synthesis()
    disc = nn.Sequential(nn.Conv2d(3, 4, 3), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(16, 1))
    g_opt = torch.optim.Adam([*mapping.parameters(), *synthesis.parameters()], lr=2e-3, betas=(0.0, 0.99))
    pl = PathLength()
    disc.requires_grad_(False)
    for it in range(5):
        g_loss = nn.functional.softplus(-disc(synthesis(mapping(torch.randn(4, 8))))).mean()
        g_opt.zero_grad()
        g_loss.backward()
        g_opt.step()
        if it % 2 == 0:
            w = mapping(torch.randn(2, 8))
            penalty = pl(synthesis(w), w)
            g_opt.zero_grad()
            (2 * 2 * penalty).backward()  # symptom
            g_opt.step()


TRUTH = Truth(
    fault="the running mean of the path lengths is not detached",
    raises="Trying to backward through the graph a second time",
    names=("mean",),
    repair=("self.mean = self.mean.lerp(lengths.detach().mean(), self.decay)",),
)
