"""A parametrized recurrent weight is cached inside each step."""

import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    cell = parametrizations.orthogonal(nn.Linear(6, 6, bias=False))
    head = nn.Linear(6, 2)
    opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], 0.1)
    for _ in range(3):
        h = torch.zeros(4, 6)
        with parametrize.cached():
            for _ in range(3):
                h = torch.tanh(cell(h) + torch.randn(4, 6))
        loss = nn.functional.cross_entropy(head(h), torch.randint(2, (4,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return cell


TRUTH = Truth()
