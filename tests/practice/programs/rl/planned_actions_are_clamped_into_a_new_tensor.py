"""Planning by gradient: after each step the actions are clamped into a new tensor under the leaf's name."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Dynamics(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 24), nn.ELU(), nn.Linear(24, 2))

    def forward(self, s, a):
        return s + 0.1 * self.net(torch.cat([s, a], -1))


def cost(s, a):
    return s.pow(2).sum(-1).mean() + 0.01 * a.pow(2).mean()


def plan(model, start, horizon=6, iterations=4):
    actions = torch.zeros(horizon, len(start), 1, requires_grad=True)
    opt = torch.optim.Adam([actions], lr=0.3)
    for _ in range(iterations):
        s, total = start, 0.0
        for a in actions:
            s = model(s, a)
            total = total + cost(s, a)
        opt.zero_grad()
        total.backward()  # symptom
        opt.step()
        actions = actions.clamp(-1, 1)  # cause
    return actions.detach()


def run():
    torch.manual_seed(0)
    model = Dynamics().requires_grad_(False)
    with torch.enable_grad():
        return plan(model, torch.randn(4, 2))


TRUTH = Truth(
    fault="the optimizer holds the first leaf; what is planned with is computed from it",
    raises="Trying to backward through the graph a second time",
    names=("clamp",),
    repair=("actions.data.clamp_(-1, 1)",),
)
