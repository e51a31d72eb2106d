"""Top-1 routing: the output is not multiplied by the gate, so the router never learns."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(4, 2)
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

    def forward(self, x):
        gate, index = self.router(x).softmax(-1).max(-1)  # also
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            chosen = index == i  # also
            out[chosen] = expert(x[chosen])  # cause
        return out


def run():
    torch.manual_seed(0)
    model = Experts()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(2):
        x = torch.randn(16, 4)
        loss = (model(x) - x.roll(1, 1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model.router.weight.grad


def verify(out):
    assert out is None


TRUTH = Truth(
    fault="the router is only asked which, by a comparison",
    names=("router",),
    repair=("out[chosen] = gate[chosen, None] * expert(x[chosen])",),
)
