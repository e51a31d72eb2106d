"""A parametrized weight is cached around the whole loop: its graph is freed by the first backward."""

import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    cell = parametrizations.orthogonal(nn.Linear(6, 6, bias=False))
    head = nn.Linear(6, 2)
    opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], 0.1)
    with parametrize.cached():  # cause
        for _ in range(2):
            h = torch.zeros(4, 6)
            for _ in range(3):
                h = torch.tanh(cell(h) + torch.randn(4, 6))
            loss = nn.functional.cross_entropy(head(h), torch.randint(2, (4,)))
            opt.zero_grad()
            loss.backward()  # symptom
            opt.step()
    return cell


TRUTH = Truth(
    fault="the cached weight of the first step is used in the second",
    raises="Trying to backward through the graph a second time",
    repair=("if True:",),
)
