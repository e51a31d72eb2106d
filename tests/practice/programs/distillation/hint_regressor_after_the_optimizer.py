"""FitNets: the regressor of the hint is made after the optimizer."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    teacher = nn.Sequential(nn.Linear(6, 32), nn.ReLU()).eval().requires_grad_(False)
    student = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
    head = nn.Linear(8, 3)
    opt = torch.optim.Adam([*student.parameters(), *head.parameters()], 1e-3)
    regressor = nn.Linear(8, 32)  # cause
    start = None
    for _ in range(3):
        start = regressor.weight.detach().clone()
        x, y = torch.randn(10, 6), torch.randint(0, 3, (10,))
        f = student(x)
        loss = F.cross_entropy(head(f), y) + F.mse_loss(regressor(f), teacher(x))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return regressor, start


def verify(out):
    assert torch.equal(out[0].weight, out[1])


TRUTH = Truth(
    fault="the regressor is in no optimizer",
    names=("regressor",),
    repair=("regressor = nn.Linear(8, 32)\nopt.add_param_group({'params': regressor.parameters()})",),
)
