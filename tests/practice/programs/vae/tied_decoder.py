"""VAE with tied weights: the decoder has a Parameter of its own on the encoder's memory, two updates hit it per step."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TiedVAE(nn.Module):
    def __init__(self, x_dim=12, h_dim=8, z_dim=3):
        super().__init__()
        self.fc_in = nn.Linear(x_dim, h_dim)
        self.mu = nn.Linear(h_dim, z_dim)
        self.logvar = nn.Linear(h_dim, z_dim)
        self.fc_z = nn.Linear(z_dim, h_dim)
        self.out_weight = nn.Parameter(self.fc_in.weight.t())  # cause
        self.out_bias = nn.Parameter(torch.zeros(x_dim))

    def encode(self, x):
        h = torch.tanh(self.fc_in(x))
        return self.mu(h), self.logvar(h)

    def decode(self, z):
        h = torch.tanh(self.fc_z(z))
        return F.linear(h, self.out_weight, self.out_bias)  # cause

    def forward(self, x):
        mu, logvar = self.encode(x)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.decode(z), mu, logvar


def kl_weight(step, warmup=3):
    return min(1.0, step / warmup)


def run():
    torch.manual_seed(0)
    model = TiedVAE()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
    before = None
    for step in range(4):
        x = torch.rand(8, 12)
        recon, mu, logvar = model(x)
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
        loss = F.mse_loss(recon, x, reduction="sum") / len(x) + kl_weight(step) * kl
        before = model.fc_in.weight.detach().clone()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 1.0)
        opt.step()
        print(f"step {step} loss {loss.item():.4f} |w| {model.fc_in.weight.norm().item():.4f}")
    return model, before


def verify(out):
    model, before = out
    assert (model.fc_in.weight - before).abs().max() > 1.6e-3  # Adam's step is at most about lr


TRUTH = Truth(
    fault="two parameters share one memory, and Adam steps it twice",
    names=("out_weight",),
    repair=("", "return F.linear(h, self.fc_in.weight.t(), self.out_bias)"),
)
