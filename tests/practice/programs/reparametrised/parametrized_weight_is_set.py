"""Setting a parametrized weight writes its originals."""

import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    D = nn.Sequential(weight_norm(nn.Linear(3, 8)), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.RMSprop(D.parameters(), 0.1)
    for _ in range(2):
        loss = D(torch.randn(8, 3)).mean() - D(torch.randn(8, 3) + 1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            D[0].weight = D[0].weight.clamp(-0.5, 0.5)
            D[2].weight.clamp_(-0.5, 0.5)


TRUTH = Truth()
