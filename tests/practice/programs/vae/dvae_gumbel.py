"""Discrete VAE: in the hand-written straight-through estimator the soft sample has the wrong sign, gradients point uphill."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def gumbel_softmax(logits, tau, hard=True):
    gumbel = -torch.empty_like(logits).exponential_().log()
    y_soft = F.softmax((logits + gumbel) / tau, dim=1)
    if not hard:
        return y_soft
    index = y_soft.argmax(1, keepdim=True)
    y_hard = torch.zeros_like(logits).scatter_(1, index, 1.0)
    return y_hard - y_soft + y_soft.detach()  # cause


class DVAE(nn.Module):
    def __init__(self, n_tokens=8, dim=6):
        super().__init__()
        self.n_tokens = n_tokens
        self.encoder = nn.Sequential(nn.Conv2d(3, 8, 4, 4), nn.ReLU(), nn.Conv2d(8, n_tokens, 1))
        self.codebook = nn.Embedding(n_tokens, dim)
        self.decoder = nn.ConvTranspose2d(dim, 3, 4, 4)

    def forward(self, img, tau):
        logits = self.encoder(img)
        one_hot = gumbel_softmax(logits, tau)
        sampled = torch.einsum("bnhw,nd->bdhw", one_hot, self.codebook.weight)
        recon = self.decoder(sampled)
        log_qy = F.log_softmax(logits.permute(0, 2, 3, 1).flatten(0, 2), dim=-1)
        kl = (log_qy.exp() * (log_qy + math.log(self.n_tokens))).sum(-1).mean()
        return recon, kl


def run():
    torch.manual_seed(0)
    model = DVAE()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    temp = 1.0
    for step in range(3):
        img = torch.rand(2, 3, 8, 8)
        recon, kl = model(img, temp)
        loss = F.smooth_l1_loss(recon, img) + 0.01 * kl
        opt.zero_grad()
        loss.backward()
        opt.step()
        temp = max(temp * math.exp(-1e-3 * step), 0.5)
        print(f"{step} loss {loss.item():.4f} kl {kl.item():.4f} temp {temp:.3f}")
    return model


def verify(model):
    logits, weight = torch.randn(4, 8, requires_grad=True), torch.randn(4, 8)
    grads = []
    for hard in (True, False):
        torch.manual_seed(0)
        grads.append(torch.autograd.grad((gumbel_softmax(logits, 1.0, hard) * weight).sum(), logits)[0])
    assert torch.allclose(grads[0], -grads[1])


TRUTH = Truth(
    fault="the gradient of the straight-through estimator has the wrong sign",
    names=("y_soft",),
    repair=("return y_hard - y_soft.detach() + y_soft",),
)
