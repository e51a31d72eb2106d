"""Generative: StyleGAN2's requires_grad(discriminator, True) was lost; after the first generator step the discriminator is frozen for good."""

import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import autograd, optim

from tests.practice.truth import Truth


class EqualLinear(nn.Module):
    def __init__(self, in_dim, out_dim, bias_init=0.0):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out_dim, in_dim))
        self.bias = nn.Parameter(torch.full((out_dim,), bias_init))
        self.scale = 1 / math.sqrt(in_dim)

    def forward(self, input):
        return F.linear(input, self.weight * self.scale, self.bias)


class Generator(nn.Module):
    def __init__(self, style_dim=8, size=6):
        super().__init__()
        self.size = size
        self.style = nn.Sequential(
            EqualLinear(style_dim, style_dim), nn.LeakyReLU(0.2), EqualLinear(style_dim, style_dim), nn.LeakyReLU(0.2)
        )
        self.const = nn.Parameter(torch.randn(1, 16))
        self.mod = EqualLinear(style_dim, 16, bias_init=1.0)
        self.to_rgb = EqualLinear(16, size * size)

    def forward(self, z):
        latent = self.style(z * torch.rsqrt(z.pow(2).mean(1, keepdim=True) + 1e-8))
        return self.to_rgb(F.leaky_relu(self.const * self.mod(latent), 0.2)).view(-1, 1, self.size, self.size)


class Discriminator(nn.Module):
    def __init__(self, size=6):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), EqualLinear(size * size, 16), nn.LeakyReLU(0.2), EqualLinear(16, 1))

    def forward(self, input):
        return self.net(input)


def requires_grad(model, flag=True):
    for p in model.parameters():
        p.requires_grad = flag


def accumulate(model1, model2, decay=0.999):
    par1, par2 = dict(model1.named_parameters()), dict(model2.named_parameters())
    for k in par1.keys():
        par1[k].data.mul_(decay).add_(par2[k].data, alpha=1 - decay)


def d_logistic_loss(real_pred, fake_pred):
    return F.softplus(-real_pred).mean() + F.softplus(fake_pred).mean()


def d_r1_loss(real_pred, real_img):
    (grad_real,) = autograd.grad(outputs=real_pred.sum(), inputs=real_img, create_graph=True)
    return grad_real.pow(2).reshape(grad_real.shape[0], -1).sum(1).mean()


def discriminator_step(generator, discriminator, d_optim, real_img, regularize):
    requires_grad(generator, False)  # cause
    fake_img = generator(torch.randn(8, 8))
    real_img.requires_grad = True
    real_pred = discriminator(real_img)
    d_loss = d_logistic_loss(real_pred, discriminator(fake_img))
    if regularize:
        d_loss = d_loss + 5 * d_r1_loss(real_pred, real_img) + 0 * real_pred[0].sum()
    discriminator.zero_grad()
    d_loss.backward()
    d_optim.step()
    return d_loss.item()


def generator_step(generator, discriminator, g_optim):
    requires_grad(generator, True)
    requires_grad(discriminator, False)  # also
    fake_pred = discriminator(generator(torch.randn(8, 8)))
    g_loss = F.softplus(-fake_pred).mean()
    generator.zero_grad()
    g_loss.backward()
    g_optim.step()
    return g_loss.item()


def run(d_reg_every=2):
    torch.manual_seed(0)
    generator, discriminator = Generator(), Discriminator()
    g_ema = copy.deepcopy(generator).eval()
    accumulate(g_ema, generator, 0)
    g_optim = optim.Adam(generator.parameters(), lr=2e-3, betas=(0.0, 0.99))
    d_optim = optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.0, 0.99))
    weights = []
    for i in range(4):
        real_img = torch.randn(8, 1, 6, 6)
        discriminator_step(generator, discriminator, d_optim, real_img, i % d_reg_every == 0)
        generator_step(generator, discriminator, g_optim)
        accumulate(g_ema, generator, 0.9)
        weights.append(discriminator.net[1].weight.detach().clone())
    return weights


def verify(weights):
    assert all(torch.equal(weights[0], w) for w in weights[1:])


TRUTH = Truth(
    fault="the discriminator's requires_grad stays False after the first generator step",
    names=("discriminator",),
    repair=("requires_grad(generator, False)\nrequires_grad(discriminator, True)",),
)
