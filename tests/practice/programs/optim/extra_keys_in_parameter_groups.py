"""Own keys in the groups that the program reads itself."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2))
    groups = [{"params": net[0].parameters(), "lr_scale": 0.1}, {"params": net[1].parameters(), "lr_scale": 1.0}]
    opt = torch.optim.AdamW(groups, lr=1e-3)
    for step in range(3):
        for group in opt.param_groups:
            group["lr"] = 1e-3 * group["lr_scale"] / (step + 1)
        opt.zero_grad()
        net(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


TRUTH = Truth()
