"""Switch routing: both factors of the balancing loss are counts, so it has no gradient."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(4, 3)
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x):
        gates = self.router(x).softmax(-1)
        best, index = gates.max(-1)
        share = F.one_hot(index, 3).float().mean(0)
        mass = F.one_hot(gates.argmax(-1), 3).float().mean(0)  # cause
        balance = 3 * (share * mass).sum()
        out = sum(e(x) * (best * (index == i)).unsqueeze(-1) for i, e in enumerate(self.experts))
        return out, balance


def run():
    torch.manual_seed(0)
    model = Experts()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    balances = []
    for _ in range(2):
        x = torch.randn(16, 4)
        out, balance = model(x)
        loss = (out - x).pow(2).mean() + 0.1 * balance
        opt.zero_grad()
        loss.backward()
        opt.step()
        balances.append(balance.requires_grad)
    return balances


def verify(out):
    assert not any(out)


TRUTH = Truth(
    fault="the balancing loss is a constant",
    repair=("mass = gates.mean(0)",),
)
