"""A policy mixture: the log-probability of a sampled action is weighted by a learned gate on purpose."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    experts, gate = nn.ModuleList(nn.Linear(4, 3) for _ in range(2)), nn.Linear(4, 2)
    opt = torch.optim.Adam([*experts.parameters(), *gate.parameters()], 1e-2)
    for _ in range(2):
        x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
        log_p = torch.stack([torch.log_softmax(e(x), -1).gather(1, y[:, None])[:, 0] for e in experts], 1)
        loss = -(torch.softmax(gate(x), -1) * log_p).sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


TRUTH = Truth()
