"""StyleGAN2: R1 at every second step and the path length at every third, each with a pass and a step of its own."""

import math

import torch
from torch import autograd, nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def requires_grad(model, flag=True):
    for p in model.parameters():
        p.requires_grad = flag


class Synthesis(nn.Module):
    def __init__(self):
        super().__init__()
        self.style = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 8))
        self.const = nn.Parameter(torch.randn(1, 8, 4, 4))
        self.to_rgb = nn.Conv2d(8, 3, 1)

    def forward(self, z):
        w = self.style(z)
        return torch.tanh(self.to_rgb(self.const * w[:, :, None, None])), w


def g_path_regularize(img, latents, mean_path_length, decay=0.01):
    noise = torch.randn_like(img) / math.sqrt(img.shape[2] * img.shape[3])
    (grad,) = autograd.grad((img * noise).sum(), latents, create_graph=True)
    path_lengths = grad.pow(2).sum(1).sqrt()
    path_mean = mean_path_length + decay * (path_lengths.mean() - mean_path_length)
    return (path_lengths - path_mean).pow(2).mean(), path_mean.detach(), path_lengths


def run():
    torch.manual_seed(0)
    G = Synthesis()
    D = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(128, 1))
    g_optim, d_optim = (
        torch.optim.Adam(G.parameters(), 2e-3, (0.0, 0.99)),
        torch.optim.Adam(D.parameters(), 2e-3, (0.0, 0.99)),
    )
    mean_path_length = 0
    stats = []
    for i in range(6):
        real = torch.randn(4, 3, 4, 4)
        requires_grad(G, False)
        requires_grad(D, True)
        fake, _ = G(torch.randn(4, 4))
        d_loss = F.softplus(-D(real)).mean() + F.softplus(D(fake)).mean()
        D.zero_grad()
        d_loss.backward()
        d_optim.step()
        if i % 2 == 0:
            real.requires_grad = True
            real_pred = D(real)
            (grad_real,) = autograd.grad(real_pred.sum(), real, create_graph=True)
            r1 = grad_real.pow(2).flatten(1).sum(1).mean()
            D.zero_grad()
            (10 / 2 * r1 * 2 + 0 * real_pred[0]).backward()
            d_optim.step()
        requires_grad(G, True)
        requires_grad(D, False)
        g_loss = F.softplus(-D(G(torch.randn(4, 4))[0])).mean()
        G.zero_grad()
        g_loss.backward()
        g_optim.step()
        if i % 3 == 0:
            img, latents = G(torch.randn(2, 4))
            path_loss, mean_path_length, lengths = g_path_regularize(img, latents, mean_path_length)
            G.zero_grad()
            (2 * 3 * path_loss + 0 * img[0, 0, 0, 0]).backward()
            g_optim.step()
        stats.append((d_loss.item(), g_loss.item(), r1.item(), path_loss.item()))
    return G, D, mean_path_length, stats


TRUTH = Truth()


def verify(out):
    G, D, mean_path_length, stats = out
    assert mean_path_length > 0 and not mean_path_length.requires_grad
    assert all(x == x and abs(x) < 1e3 for row in stats for x in row)
    assert all(p.grad is not None for m in (G, D) for p in m.parameters())
