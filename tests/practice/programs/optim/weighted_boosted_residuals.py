"""Gradient boosting of small nets: each is trained on the residual of those before it, which are left as they are."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    x = torch.randn(32, 3)
    y = x[:, 0] * x[:, 1]
    ensemble, rates = [], nn.Parameter(torch.ones(3))
    for _ in range(3):
        with torch.no_grad():
            done = sum((0.5 * m(x).squeeze(-1) for m in ensemble), torch.zeros(32))
        net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
        for _ in range(3):
            loss = (y - done - net(x).squeeze(-1)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        ensemble.append(net)
    final = torch.optim.SGD([rates], lr=0.1)
    outs = torch.stack([m(x).squeeze(-1).detach() for m in ensemble])
    for _ in range(2):
        final.zero_grad()
        loss = (y - rates @ outs).pow(2).mean()
        loss.backward()
        final.step()
    return loss.item()


TRUTH = Truth()
