"""Each loss has a backward of its own for its head, and the mean of the losses one for the trunk."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    trunk = nn.Sequential(nn.Linear(6, 16), nn.ReLU())
    heads = nn.ModuleList([nn.Linear(16, 3), nn.Linear(16, 4)])
    opt = torch.optim.SGD([*trunk.parameters(), *heads.parameters()], 0.05)
    for _ in range(3):
        h = trunk(torch.randn(8, 6))
        losses = [
            nn.functional.cross_entropy(heads[0](h), torch.randint(3, (8,))),
            nn.functional.smooth_l1_loss(heads[1](h), torch.randn(8, 4)),
        ]
        opt.zero_grad()
        for head, loss in zip(heads, losses):
            loss.backward(inputs=list(head.parameters()), retain_graph=True)
        (sum(losses) / 2).backward(inputs=list(trunk.parameters()))
        opt.step()
    return trunk


TRUTH = Truth()
