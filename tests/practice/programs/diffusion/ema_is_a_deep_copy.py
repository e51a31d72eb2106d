"""A moving average of a denoiser's weights, in a deep copy."""

import copy
import torch
from torch import nn

from tests.practice.truth import Truth


class EMA:
    def __init__(self, model, decay=0.99):
        self.shadow = copy.deepcopy(model)
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.mul_(self.decay).add_(p, alpha=1 - self.decay)


def run():
    torch.manual_seed(0)
    eps_net = nn.Sequential(nn.Linear(3, 16), nn.SiLU(), nn.Linear(16, 2))
    ema = EMA(eps_net)
    opt = torch.optim.AdamW(eps_net.parameters(), 1e-3)
    for _ in range(3):
        x, t, noise = torch.randn(16, 2), torch.rand(16, 1), torch.randn(16, 2)
        xt = (1 - t).sqrt() * x + t.sqrt() * noise
        loss = (eps_net(torch.cat([xt, t], 1)) - noise).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update(eps_net)
    return ema.shadow, eps_net


TRUTH = Truth()
