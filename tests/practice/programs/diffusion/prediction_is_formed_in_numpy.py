"""DDPM: the model's noise goes through NumPy to be clipped; the auxiliary loss of the variance alone teaches."""

import numpy as np
import torch
from torch import nn

from tests.practice.truth import Truth


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(9, 32), nn.SiLU())
        self.noise, self.variance = nn.Linear(32, 8), nn.Linear(32, 8)

    def forward(self, x, t):
        h = self.body(torch.cat([x, t], 1))
        return self.noise(h), self.variance(h)


def run():
    torch.manual_seed(0)
    net = Denoiser()
    opt = torch.optim.AdamW(net.parameters(), 1e-3)
    for _ in range(2):
        x, t, eps = torch.randn(16, 8), torch.rand(16, 1), torch.randn(16, 8)
        a = torch.cos(t * 1.57)
        predicted, log_var = net(a * x + (1 - a * a).sqrt() * eps, t)
        predicted = torch.from_numpy(np.clip(predicted.detach().numpy(), -5, 5))  # cause
        loss = (predicted - eps).pow(2).mean() + 0.001 * (log_var - (1 - a)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net.noise.weight.grad


def verify(grad):
    assert grad is None


TRUTH = Truth(
    fault="the prediction leaves autograd", names=("noise", "numpy"), repair=("predicted = predicted.clamp(-5, 5)",)
)
