"""Both views of a pair carry gradient."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(2):
        x = torch.randn(8, 6)
        a, b = net(x + 0.1 * torch.randn_like(x)), net(x + 0.1 * torch.randn_like(x))
        z = F.normalize(torch.cat([a, b]), dim=1)
        logits = (z @ z.T / 0.5).masked_fill(torch.eye(16, dtype=torch.bool), float("-inf"))
        invariance = F.mse_loss(a, b)
        loss = F.cross_entropy(logits, torch.arange(16).roll(8)) + invariance
        opt.zero_grad()
        loss.backward()
        opt.step()


TRUTH = Truth()
