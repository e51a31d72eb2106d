"""The compiled loss of a VAE adds its KL term as a float, which breaks the graph: the variances learn nothing."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG105"
NAMES = ("log_var",)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean, self.log_var, self.decoder = nn.Linear(6, 2), nn.Linear(6, 2), nn.Linear(2, 6)

    def forward(self, x):
        mean, log_var = self.mean(x), self.log_var(x)
        return self.decoder(mean), mean, log_var


def setup():
    global vae, optimizer, loss_of
    torch.manual_seed(0)
    vae = torch.compile(VAE(), backend=BACKEND)
    optimizer = torch.optim.Adam(vae.parameters(), lr=1e-3)

    @torch.compile(backend=BACKEND)
    def loss_of(out, x, mean, log_var):
        kl = -0.5 * (1 + log_var - mean.pow(2) - log_var.exp()).sum(1).mean()
        return F.mse_loss(out, x) + 0.1 * float(kl)  # cause


def run():
    for _ in range(2):
        x = torch.randn(5, 6)
        out, mean, log_var = vae(x)
        optimizer.zero_grad()
        loss_of(out, x, mean, log_var).backward()
        optimizer.step()
