"""A loss with a large constant weight and a sum over tokens; nothing is scaled back, for that is the loss."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    weight, norms = 1000.0, []
    for _ in range(3):
        x, y = torch.randn(8, 8), torch.randn(8, 2)
        opt.zero_grad()
        loss = weight * nn.functional.mse_loss(net(x), y, reduction="sum")
        loss.backward()
        norms.append((nn.utils.get_total_norm([p.grad for p in net.parameters()]) / weight).item())
        opt.step()
    return norms


TRUTH = Truth()
