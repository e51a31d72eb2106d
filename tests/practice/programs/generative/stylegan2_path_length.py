"""Generative: StyleGAN2 with lazy R1, lazy path length regularisation and a detached running mean; healthy."""
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import autograd

from tests.practice.truth import Truth


class ModulatedLayer(nn.Module):
    def __init__(self, dim, style_dim, demodulate=True):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(1, dim, dim))
        self.modulation = nn.Linear(style_dim, dim)
        nn.init.ones_(self.modulation.bias)
        self.scale, self.demodulate = 1 / math.sqrt(dim), demodulate

    def forward(self, x, style):
        weight = self.scale * self.weight * self.modulation(style).unsqueeze(1)
        if self.demodulate:
            weight = weight * torch.rsqrt(weight.pow(2).sum(2, keepdim=True) + 1e-8)
        return torch.einsum("bi,boi->bo", x, weight)


class Generator(nn.Module):
    def __init__(self, style_dim=8, dim=12, size=5):
        super().__init__()
        self.style = nn.Sequential(nn.Linear(style_dim, style_dim), nn.LeakyReLU(0.2))
        self.input = nn.Parameter(torch.randn(1, dim))
        self.conv1 = ModulatedLayer(dim, style_dim)
        self.noise_weight = nn.Parameter(torch.zeros(1))
        self.to_rgb = nn.Linear(dim, size * size)
        self.size = size

    def forward(self, z, return_latents=False):
        w = self.style(z)
        x = self.conv1(self.input.repeat(len(z), 1), w)
        x = F.leaky_relu(x + self.noise_weight * torch.randn(len(z), 1), 0.2)
        image = self.to_rgb(x).view(-1, 1, self.size, self.size)
        return image, (w if return_latents else None)


def g_path_regularize(fake_img, latents, mean_path_length, decay=0.01):
    noise = torch.randn_like(fake_img) / math.sqrt(fake_img.shape[2] * fake_img.shape[3])
    grad, = autograd.grad(outputs=(fake_img * noise).sum(), inputs=latents, create_graph=True)
    path_lengths = torch.sqrt(grad.pow(2).sum(1) + 1e-8)
    path_mean = mean_path_length + decay * (path_lengths.mean() - mean_path_length)
    path_penalty = (path_lengths - path_mean).pow(2).mean()
    return path_penalty, path_mean.detach(), path_lengths


def requires_grad(model, flag=True):
    for p in model.parameters():
        p.requires_grad = flag


@torch.no_grad()
def accumulate(ema, model, decay):
    for a, b in zip(ema.parameters(), model.parameters()):
        a.data.mul_(decay).add_(b.data, alpha=1 - decay)


def run(d_reg_every=2, g_reg_every=2, r1=10, path_regularize=2, path_batch_shrink=2, batch=8):
    torch.manual_seed(0)
    generator = Generator()
    discriminator = nn.Sequential(nn.Flatten(), nn.Linear(25, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    g_ema = copy.deepcopy(generator).eval()
    ratio = g_reg_every / (g_reg_every + 1)
    g_optim = torch.optim.Adam(generator.parameters(), lr=2e-2 * ratio, betas=(0.0 ** ratio, 0.99 ** ratio))
    d_optim = torch.optim.Adam(discriminator.parameters(), lr=2e-2 * ratio, betas=(0.0 ** ratio, 0.99 ** ratio))
    mean_path_length = torch.zeros(())
    before = [p.detach().clone() for m in (generator, discriminator, g_ema) for p in m.parameters()]
    for i in range(4):
        real_img = torch.randn(batch, 1, 5, 5)
        requires_grad(generator, False)
        requires_grad(discriminator, True)
        fake_img, _ = generator(torch.randn(batch, 8))
        d_loss = F.softplus(-discriminator(real_img)).mean() + F.softplus(discriminator(fake_img)).mean()
        discriminator.zero_grad()
        d_loss.backward()
        d_optim.step()
        if i % d_reg_every == 0:
            real_img.requires_grad = True
            real_pred = discriminator(real_img)
            grad_real, = autograd.grad(outputs=real_pred.sum(), inputs=real_img, create_graph=True)
            r1_loss = grad_real.pow(2).flatten(1).sum(1).mean()
            discriminator.zero_grad()
            (r1 / 2 * r1_loss * d_reg_every + 0 * real_pred[0].sum()).backward()
            d_optim.step()

        requires_grad(generator, True)
        requires_grad(discriminator, False)
        fake_img, _ = generator(torch.randn(batch, 8))
        generator.zero_grad()
        F.softplus(-discriminator(fake_img)).mean().backward()
        g_optim.step()
        if i % g_reg_every == 0:
            fake_img, latents = generator(torch.randn(max(1, batch // path_batch_shrink), 8), return_latents=True)
            path_loss, mean_path_length, _ = g_path_regularize(fake_img, latents, mean_path_length)
            generator.zero_grad()
            weighted_path_loss = path_regularize * g_reg_every * path_loss + 0 * fake_img[0, 0, 0, 0]
            weighted_path_loss.backward()
            g_optim.step()
        accumulate(g_ema, generator, 0.5 ** (batch / 10000 * 100))
    after = [p.detach().clone() for m in (generator, discriminator, g_ema) for p in m.parameters()]
    return before, after, mean_path_length


def verify(outcome):
    before, after, mean_path_length = outcome
    assert all(not torch.equal(a, b) for a, b in zip(before, after))
    assert not mean_path_length.requires_grad and mean_path_length > 0


TRUTH = Truth()
