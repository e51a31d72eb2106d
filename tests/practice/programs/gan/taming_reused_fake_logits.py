"""GAN: the discriminator reuses the generator step's logits, detached, and never learns what a fake is."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class LossConfig:
    disc_weight: float = 0.8
    codebook_weight: float = 1.0
    n_embed: int = 16
    embed_dim: int = 8
    lr: float = 1e-2


class VectorQuantizer(nn.Module):
    def __init__(self, n_e, e_dim, beta=0.25):
        super().__init__()
        self.beta = beta
        self.embedding = nn.Embedding(n_e, e_dim)
        self.embedding.weight.data.uniform_(-0.5, 0.5)

    def forward(self, z):
        flat = z.permute(0, 2, 3, 1)
        idx = torch.cdist(flat.reshape(-1, flat.size(-1)), self.embedding.weight).argmin(1)
        z_q = self.embedding(idx).view(flat.shape)
        loss = self.beta * (z_q.detach() - flat).pow(2).mean() + (z_q - flat.detach()).pow(2).mean()
        z_q = flat + (z_q - flat).detach()
        return z_q.permute(0, 3, 1, 2), loss


class VQModel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 16, 4, 2, 1), nn.SiLU(), nn.Conv2d(16, cfg.embed_dim, 3, 1, 1))
        self.quantize = VectorQuantizer(cfg.n_embed, cfg.embed_dim)
        self.decoder = nn.Sequential(nn.Conv2d(cfg.embed_dim, 16, 3, 1, 1), nn.SiLU(), nn.Upsample(scale_factor=2))
        self.conv_out = nn.Conv2d(16, 3, 3, 1, 1)

    def forward(self, x):
        quant, diff = self.quantize(self.encoder(x))
        return self.conv_out(self.decoder(quant)), diff


class NLayerDiscriminator(nn.Module):
    def __init__(self, ndf=8):
        super().__init__()
        self.main = nn.Sequential(nn.Conv2d(3, ndf, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(ndf, 1, 4, 1, 1))

    def forward(self, x):
        return self.main(x)


class VQLPIPSWithDiscriminator(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.discriminator = NLayerDiscriminator()
        self.logits_fake = None

    def calculate_adaptive_weight(self, nll_loss, g_loss, last_layer):
        nll_grads = torch.autograd.grad(nll_loss, last_layer, retain_graph=True)[0]
        g_grads = torch.autograd.grad(g_loss, last_layer, retain_graph=True)[0]
        d_weight = torch.norm(nll_grads) / (torch.norm(g_grads) + 1e-4)
        return torch.clamp(d_weight, 0.0, 1e4).detach() * self.cfg.disc_weight

    def forward(self, codebook_loss, inputs, reconstructions, optimizer_idx, last_layer):
        if optimizer_idx == 0:
            nll_loss = (inputs - reconstructions).abs().mean()
            logits_fake = self.discriminator(reconstructions)
            self.logits_fake = logits_fake.detach()  # also
            g_loss = -logits_fake.mean()
            d_weight = self.calculate_adaptive_weight(nll_loss, g_loss, last_layer)
            return nll_loss + d_weight * g_loss + self.cfg.codebook_weight * codebook_loss
        logits_real = self.discriminator(inputs.detach())
        logits_fake = self.logits_fake  # cause
        return 0.5 * (F.relu(1.0 - logits_real).mean() + F.relu(1.0 + logits_fake).mean())


def run():
    torch.manual_seed(23)
    cfg = LossConfig()
    model, loss_fn = VQModel(cfg), VQLPIPSWithDiscriminator(cfg)
    opt_ae = torch.optim.Adam(model.parameters(), lr=cfg.lr, betas=(0.5, 0.9))
    opt_disc = torch.optim.Adam(loss_fn.discriminator.parameters(), lr=cfg.lr, betas=(0.5, 0.9))
    images = torch.randn(24, 3, 16, 16).tanh()
    bias_grads = []
    for step in range(3):
        x = images[step * 8 : step * 8 + 8]
        xrec, qloss = model(x)
        aeloss = loss_fn(qloss, x, xrec, 0, model.conv_out.weight)
        opt_ae.zero_grad()
        aeloss.backward()
        opt_ae.step()
        discloss = loss_fn(qloss, x, xrec.detach(), 1, model.conv_out.weight)
        opt_disc.zero_grad()
        discloss.backward()
        bias_grads.append(loss_fn.discriminator.main[2].bias.grad.item())
        opt_disc.step()
    return bias_grads


def verify(bias_grads):  # the hinge's two halves cancel on the last bias; with one half missing it is -1/2
    assert abs(bias_grads[0] + 0.5) < 0.1


TRUTH = Truth(
    fault="the discriminator's loss on fakes is a constant: the cached logits are detached, only real images train it",
    names=("discriminator",),
    repair=("logits_fake = self.discriminator(reconstructions.detach())",),
)
