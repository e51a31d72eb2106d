"""LoRA merged for a quick evaluation between steps, and taken out of the weight again before training goes on."""

import torch
from torch import nn

from tests.practice.truth import Truth


class LoRA(nn.Module):
    def __init__(self, base, rank=2):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.A = nn.Parameter(torch.randn(rank, base.in_features) * 0.1)
        self.B = nn.Parameter(torch.zeros(base.out_features, rank))
        self.merged = False

    def merge(self, sign=1):
        with torch.no_grad():
            self.base.weight.add_(sign * self.B @ self.A)
        self.merged = sign > 0

    def forward(self, x):
        y = self.base(x)
        return y if self.merged else y + x @ self.A.t() @ self.B.t()


def run():
    torch.manual_seed(0)
    net = nn.Sequential(LoRA(nn.Linear(6, 12)), nn.ReLU(), LoRA(nn.Linear(12, 2)))
    adapters = [m for m in net if isinstance(m, LoRA)]
    opt = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], 1e-2)
    accuracy = []
    for _epoch in range(3):
        for _ in range(2):
            opt.zero_grad()
            nn.functional.cross_entropy(net(torch.randn(8, 6)), torch.randint(2, (8,))).backward()
            opt.step()
        for a in adapters:
            a.merge()
        with torch.no_grad():
            accuracy.append((net(torch.randn(8, 6)).argmax(1) == 0).float().mean().item())
        for a in adapters:
            a.merge(-1)
    return accuracy


TRUTH = Truth()
