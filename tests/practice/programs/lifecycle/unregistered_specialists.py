"""Experts spawned during the run live in a plain list: the optimizer has them, model.zero_grad() has not."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Expert(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        return torch.tanh(self.fc(x))


class Committee(nn.Module):
    """Starts with no expert, a new one joins whenever the loss stalls."""

    def __init__(self, dim=5):
        super().__init__()
        self.dim = dim
        self.experts = []  # cause
        self.out = nn.Linear(dim, 1)

    def spawn(self):
        expert = Expert(self.dim)
        self.experts.append(expert)
        return expert

    def forward(self, x):
        h = x
        for expert in self.experts:
            h = h + expert(x)
        return self.out(h).squeeze(-1)


def direct_gradient(model, p, x, y):
    return torch.autograd.grad(F.mse_loss(model(x), y), p)[0]


def run():
    torch.manual_seed(0)
    model = Committee()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    surplus = []
    for step in range(5):
        if step == 1:
            optimizer.add_param_group({"params": list(model.spawn().parameters())})
        x = torch.randn(16, 5)
        y = x.prod(1)
        model.zero_grad()
        F.mse_loss(model(x), y).backward()
        if model.experts:
            weight = model.experts[0].fc.weight
            true = direct_gradient(model, weight, x, y)
            surplus.append(((weight.grad - true).norm() / true.norm()).item())
        optimizer.step()
    registered = len(list(model.parameters()))
    return registered, surplus


def verify(outcome):
    registered, surplus = outcome
    assert registered == 2
    # from the second step on the gradients of all earlier steps are in there
    assert surplus[0] < 1e-5 and min(surplus[1:]) > 0.05


TRUTH = Truth(
    fault="the experts are not registered modules: model.zero_grad() misses them and their gradients pile up",
    names=("experts",),
    repair=("self.experts = nn.ModuleList()",),
)
