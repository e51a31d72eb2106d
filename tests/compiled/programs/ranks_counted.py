"""Ordinal regression: the compiled criterion counts how many thresholds are passed, and a count has no gradient."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG104"
NAMES = ("age_head",)


class Ages(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 16), nn.ReLU())
        self.age_head, self.sex_head = nn.Linear(16, 9), nn.Linear(16, 2)

    def forward(self, x):
        h = self.body(x)
        return self.age_head(h), self.sex_head(h)


@torch.compile(backend=BACKEND, dynamic=True)
def criterion(ages, sexes, age, sex):
    ranks = (ages.cumsum(1) > 0).sum(1)  # cause
    return F.l1_loss(ranks.float(), age.float()) + F.cross_entropy(sexes, sex)


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = Ages()
    optimizer = torch.optim.Adam(model.parameters())


def run():
    for rows in (4, 7, 5):
        loss = criterion(*model(torch.randn(rows, 6)), torch.randint(10, (rows,)), torch.randint(2, (rows,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
