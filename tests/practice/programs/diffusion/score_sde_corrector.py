"""Score matching by denoising, and a predictor-corrector sampler under no_grad between the epochs."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Score(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("freqs", torch.randn(4) * 4)
        self.net = nn.Sequential(nn.Linear(10, 16), nn.SiLU(), nn.Linear(16, 2))

    def forward(self, x, sigma):
        e = sigma.log()[:, None] * self.freqs
        return self.net(torch.cat([x, e.sin(), e.cos()], -1)) / sigma[:, None]


@torch.no_grad()
def sample(model, n=4):
    x = torch.randn(n, 2) * 5
    for sigma in torch.logspace(0.7, -1, 4):
        s = sigma.expand(n)
        for _ in range(2):
            g = model(x, s)
            step = 2 * (0.1 * torch.randn_like(x).norm() / (g.norm() + 1e-8)) ** 2
            x = x + step * g + (2 * step).sqrt() * torch.randn_like(x)
        x += sigma**2 * model(x, s)
    return x


def run():
    torch.manual_seed(0)
    model = Score()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(2):
        model.train()
        for _ in range(2):
            x = torch.randn(16, 2)
            sigma = torch.rand(16) * 4 + 0.1
            noise = torch.randn_like(x)
            score = model(x + sigma[:, None] * noise, sigma)
            loss = (score * sigma[:, None] + noise).pow(2).sum(-1).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        model.eval()
        sample(model)
    return loss.item()


TRUTH = Truth()
