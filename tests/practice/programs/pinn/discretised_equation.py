"""A time step of an equation, as a residual of one network at two times: both ends learn."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    u = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.Adam(u.parameters(), 1e-3)
    for _ in range(2):
        x, t, source = torch.rand(16, 1), torch.rand(16, 1), torch.randn(16, 1)
        now, later = u(torch.cat([x, t], 1)), u(torch.cat([x, t + 0.1], 1))
        loss = F.mse_loss(later, now + 0.1 * (source - now.pow(3)))
        opt.zero_grad()
        loss.backward()
        opt.step()


TRUTH = Truth()
