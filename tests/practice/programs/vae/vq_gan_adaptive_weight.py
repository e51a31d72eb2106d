"""VQGAN: the weight of the adversarial part is a ratio of gradient norms, found with the graph kept, used as a number."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 6, 3, 2, 1), nn.SiLU())
        self.conv_out = nn.ConvTranspose2d(6, 1, 4, 2, 1)

    def forward(self, x):
        return self.conv_out(self.encoder(x))

    @property
    def last_layer(self):
        return self.conv_out.weight


def adaptive_weight(nll_loss, g_loss, last_layer):
    nll_grads = torch.autograd.grad(nll_loss, last_layer, retain_graph=True)[0]
    g_grads = torch.autograd.grad(g_loss, last_layer, retain_graph=True)[0]
    d_weight = torch.norm(nll_grads) / (torch.norm(g_grads) + 1e-4)
    return torch.clamp(d_weight, 0.0, 1e4).detach()


def adopt_weight(weight, global_step, threshold, value=0.0):
    return value if global_step < threshold else weight


def run():
    torch.manual_seed(0)
    model = Autoencoder()
    disc = nn.Sequential(nn.Conv2d(1, 6, 3, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(6, 1, 3))
    opt_ae = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.5, 0.9))
    opt_disc = torch.optim.Adam(disc.parameters(), lr=1e-3, betas=(0.5, 0.9))
    weights, first = [], disc[0].weight.detach().clone()
    moved = []
    for step in range(4):
        x = torch.rand(4, 1, 8, 8)
        recon = model(x)
        nll_loss = (x.contiguous() - recon.contiguous()).abs().mean()
        g_loss = -disc(recon.contiguous()).mean()
        d_weight = adaptive_weight(nll_loss, g_loss, model.last_layer)
        factor = adopt_weight(1.0, step, threshold=2)
        loss = nll_loss + d_weight * factor * g_loss
        opt_ae.zero_grad()
        loss.backward()
        opt_ae.step()
        weights.append(d_weight.item() * factor)

        logits_real, logits_fake = disc(x.contiguous().detach()), disc(recon.contiguous().detach())
        d_loss = factor * 0.5 * (F.relu(1.0 - logits_real).mean() + F.relu(1.0 + logits_fake).mean())
        opt_disc.zero_grad()
        d_loss.backward()
        opt_disc.step()
        moved.append(not torch.equal(first, disc[0].weight))
    return model, disc, weights, moved


TRUTH = Truth()


def verify(out):
    model, disc, weights, moved = out
    assert weights[:2] == [0, 0] and weights[2] > 0
    assert moved == [False, False, True, True]
    assert all(p.grad is not None for m in (model, disc) for p in m.parameters())
