"""GAN: lazy R1 regularization on a detached, grad-requiring batch, with switched-off networks (healthy)."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class Args:
    latent: int = 6
    size: int = 8
    r1: float = 10.0
    d_reg_every: int = 2
    lr: float = 2e-3
    ema: float = 0.9
    iters: int = 4
    batch: int = 8


class EqualLinear(nn.Module):
    def __init__(self, fin, fout, lr_mul=1.0):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(fout, fin) / lr_mul)
        self.bias = nn.Parameter(torch.zeros(fout))
        self.scale, self.lr_mul = fin**-0.5 * lr_mul, lr_mul

    def forward(self, x):
        return F.linear(x, self.weight * self.scale, self.bias * self.lr_mul)


class ModulatedConv(nn.Module):
    def __init__(self, cin, cout, style):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(1, cout, cin, 3, 3))
        self.modulation, self.scale = EqualLinear(style, cin), (cin * 9) ** -0.5

    def forward(self, x, w):
        b, c, h, _ = x.shape
        weight = self.scale * self.weight * (1 + self.modulation(w)).view(b, 1, c, 1, 1)
        weight = weight * torch.rsqrt(weight.pow(2).sum([2, 3, 4], keepdim=True) + 1e-8)
        out = F.conv2d(x.reshape(1, b * c, h, h), weight.flatten(0, 1), padding=1, groups=b)
        return out.view(b, -1, h, h)


class Generator(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.style = nn.Sequential(EqualLinear(a.latent, 12, 0.5), nn.LeakyReLU(0.2), EqualLinear(12, 12, 0.5))
        self.const = nn.Parameter(torch.randn(1, 8, 4, 4))
        self.conv1, self.conv2, self.to_rgb = ModulatedConv(8, 8, 12), ModulatedConv(8, 8, 12), nn.Conv2d(8, 3, 1)

    def forward(self, z):
        w = self.style(z)
        x = F.leaky_relu(self.conv1(self.const.repeat(len(z), 1, 1, 1), w), 0.2)
        x = F.leaky_relu(self.conv2(F.interpolate(x, scale_factor=2), w), 0.2)
        return self.to_rgb(x)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.Softplus(), nn.Conv2d(8, 8, 3, 2, 1), nn.Softplus())
        self.final = EqualLinear(8 * 4, 1)

    def forward(self, x):
        return self.final(self.conv(x).flatten(1))


def d_r1_loss(real_pred, real_img):
    (grad_real,) = torch.autograd.grad(real_pred.sum(), real_img, create_graph=True)
    return grad_real.pow(2).reshape(len(grad_real), -1).sum(1).mean()


def accumulate(model1, model2, decay):
    par1, par2 = dict(model1.named_parameters()), dict(model2.named_parameters())
    for k in par1:
        par1[k].data.mul_(decay).add_(par2[k].data, alpha=1 - decay)


def run():
    torch.manual_seed(0)
    a = Args()
    g, d, g_ema = Generator(a), Discriminator(), Generator(a).eval()
    accumulate(g_ema, g, 0)
    ratio = a.d_reg_every / (a.d_reg_every + 1)
    g_optim = torch.optim.Adam(g.parameters(), lr=a.lr, betas=(0.0, 0.99))
    d_optim = torch.optim.Adam(d.parameters(), lr=a.lr * ratio, betas=(0.0, 0.99**ratio))
    before, r1_grads = [p.detach().clone() for p in (*g.parameters(), *d.parameters())], []
    for i in range(a.iters):
        real_img = torch.randn(a.batch, 3, a.size, a.size).tanh()
        g.requires_grad_(False), d.requires_grad_(True)
        fake_img = g(torch.randn(a.batch, a.latent))
        d_loss = F.softplus(-d(real_img)).mean() + F.softplus(d(fake_img)).mean()
        d.zero_grad()
        d_loss.backward()
        d_optim.step()
        if i % a.d_reg_every == 0:
            real_img = real_img.detach().requires_grad_(True)
            real_pred = d(real_img)
            r1 = d_r1_loss(real_pred, real_img)
            d.zero_grad()
            (a.r1 / 2 * r1 * a.d_reg_every + 0 * real_pred[0, 0]).backward()
            r1_grads.append(d.conv[0].weight.grad.abs().sum().item())
            d_optim.step()
        g.requires_grad_(True), d.requires_grad_(False)
        g_loss = F.softplus(-d(g(torch.randn(a.batch, a.latent)))).mean()
        g.zero_grad()
        g_loss.backward()
        g_optim.step()
        accumulate(g_ema, g, a.ema)
    return before, [*g.parameters(), *d.parameters()], r1_grads, list(g_ema.parameters())


def verify(outcome):
    before, after, r1_grads, ema = outcome
    assert min(r1_grads) > 0 and len(r1_grads) == 2
    assert all(not torch.equal(b, p) for b, p in zip(before, after))
    assert all(not torch.equal(e, p) for e, p in zip(ema, after))


TRUTH = Truth()
