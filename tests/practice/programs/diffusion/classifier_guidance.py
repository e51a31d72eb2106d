"""Sampling from a diffusion model, guided by a noisy classifier."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Eps(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim + 1, 16), nn.SiLU(), nn.Linear(16, dim))

    def forward(self, x, t):
        return self.net(torch.cat([x, t.expand(len(x), 1)], -1))


class NoisyClassifier(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim + 1, 16), nn.Tanh(), nn.Linear(16, classes))

    def forward(self, x, t):
        return self.net(torch.cat([x, t.expand(len(x), 1)], -1))


class GuidedSampler:
    def __init__(self, eps, classifier, steps=8, scale=2.0):
        self.eps, self.classifier, self.scale = eps.eval(), classifier.eval(), scale
        self.betas = torch.linspace(0.01, 0.2, steps)
        self.alphas = 1 - self.betas
        self.bar = self.alphas.cumprod(0)

    def cond_fn(self, x, t, y):
        x_in = x.detach().requires_grad_(True)  # also
        logp = F.log_softmax(self.classifier(x_in, t), -1)
        picked = logp[torch.arange(len(y)), y].sum()
        return torch.autograd.grad(picked, x_in)[0] * self.scale  # symptom

    @torch.no_grad()  # cause
    def sample(self, y, dim):
        x = torch.randn(len(y), dim)
        for i in reversed(range(len(self.betas))):
            t = torch.tensor([[i / len(self.betas)]])
            e = self.eps(x, t) - (1 - self.bar[i]).sqrt() * self.cond_fn(x, t, y)
            mean = (x - self.betas[i] / (1 - self.bar[i]).sqrt() * e) / self.alphas[i].sqrt()
            x = mean + (self.betas[i].sqrt() * torch.randn_like(x) if i else 0)
        return x


def run():
    torch.manual_seed(0)
    sampler = GuidedSampler(Eps(3).requires_grad_(False), NoisyClassifier(3, 4))
    return sampler.sample(torch.tensor([0, 1, 2, 3, 1]), 3)


TRUTH = Truth(
    fault="the guidance gradient is asked for under no_grad",
    raises="element 0 of tensors does not require grad",
    names=("no_grad",),
    repair=("",),
)


def well(out):
    assert out.shape == (5, 3) and out.isfinite().all()
