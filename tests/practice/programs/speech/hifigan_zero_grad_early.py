"""Speech: both zero_grad() calls moved to the top, so the generator's loss also trains the discriminator."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class AttrDict:
    learning_rate: float = 2e-2
    adam_b1: float = 0.8
    adam_b2: float = 0.99
    n_mels: int = 8
    hop: int = 8


class ResBlock(nn.Module):
    def __init__(self, channels, dilation=(1, 3)):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv1d(channels, channels, 3, dilation=d, padding=d) for d in dilation])

    def forward(self, x):
        for c in self.convs:
            x = c(F.leaky_relu(x, 0.1)) + x
        return x


class Generator(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.conv_pre = nn.Conv1d(h.n_mels, 16, 7, 1, padding=3)
        self.ups = nn.ConvTranspose1d(16, 8, 16, 8, padding=4)
        self.resblock = ResBlock(8)
        self.conv_post = nn.Conv1d(8, 1, 7, 1, padding=3)

    def forward(self, x):
        x = self.ups(F.leaky_relu(self.conv_pre(x), 0.1))
        return torch.tanh(self.conv_post(F.leaky_relu(self.resblock(x))))


class DiscriminatorP(nn.Module):
    def __init__(self, period):
        super().__init__()
        self.period = period
        self.convs = nn.ModuleList([nn.Conv2d(1, 8, (5, 1), (3, 1), (2, 0)), nn.Conv2d(8, 8, (5, 1), 1, (2, 0))])
        self.conv_post = nn.Conv2d(8, 1, (3, 1), 1, (1, 0))

    def forward(self, x):
        fmap = []
        b, c, t = x.shape
        if t % self.period:
            pad = self.period - t % self.period
            x, t = F.pad(x, (0, pad), "reflect"), t + pad
        x = x.view(b, c, t // self.period, self.period)
        for layer in self.convs:
            x = F.leaky_relu(layer(x), 0.1)
            fmap.append(x)
        return self.conv_post(x).flatten(1), fmap


class MultiPeriodDiscriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.discriminators = nn.ModuleList([DiscriminatorP(2), DiscriminatorP(3)])

    def forward(self, y, y_hat):
        outs = [(*d(y), *d(y_hat)) for d in self.discriminators]
        real, fmap_r, gen, fmap_g = zip(*outs)
        return real, gen, fmap_r, fmap_g


def feature_loss(fmap_r, fmap_g):
    return 2 * sum((r - g).abs().mean() for dr, dg in zip(fmap_r, fmap_g) for r, g in zip(dr, dg))


def generator_loss(outs):
    return sum(((1 - o) ** 2).mean() for o in outs)


def discriminator_loss(real, gen):
    return sum(((1 - r) ** 2).mean() + (g**2).mean() for r, g in zip(real, gen))


def run():
    h = AttrDict()
    torch.manual_seed(1234)
    generator, mpd = Generator(h), MultiPeriodDiscriminator()
    optim_g = torch.optim.AdamW(generator.parameters(), h.learning_rate, betas=(h.adam_b1, h.adam_b2))
    optim_d = torch.optim.AdamW(mpd.parameters(), h.learning_rate, betas=(h.adam_b1, h.adam_b2))
    errors = []
    for _ in range(3):
        x = torch.randn(4, h.n_mels, 6)
        y = torch.sin(torch.cumsum(torch.rand(4, 1, 6 * h.hop), -1))
        optim_g.zero_grad()
        optim_d.zero_grad()  # also
        # generator first, so that the discriminator sees the same batch afterwards
        y_g_hat = generator(x)
        real, gen, fmap_r, fmap_g = mpd(y, y_g_hat)
        loss_gen_all = generator_loss(gen) + feature_loss(fmap_r, fmap_g) + 45 * F.l1_loss(y_g_hat, y)
        loss_gen_all.backward()
        optim_g.step()

        real, gen, _, _ = mpd(y, y_g_hat.detach())
        loss_disc = discriminator_loss(real, gen)
        want = torch.autograd.grad(loss_disc, list(mpd.parameters()), retain_graph=True)
        loss_disc.backward()  # cause
        errors.append(max((w - p.grad).abs().max().item() for w, p in zip(want, mpd.parameters())))
        optim_d.step()
    return errors


def verify(errors):
    assert min(errors) > 1e-3


TRUTH = Truth(
    fault="the discriminator's gradients still hold what the generator's loss left there when its own loss is added",
    names=("discriminators",),
    repair=("optim_d.zero_grad()\nloss_disc.backward()",),
)
