"""MoCo: the key encoder is made from the query encoder by assigning `.data`, so both share memory."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    query = nn.Linear(6, 4)
    key = nn.Linear(6, 4)
    for a, b in zip(query.parameters(), key.parameters()):
        b.data = a.data  # cause
        b.requires_grad_(False)
    opt = torch.optim.SGD(query.parameters(), lr=0.1)
    for _ in range(2):
        x = torch.randn(5, 6)
        with torch.no_grad():
            k = nn.functional.normalize(key(x), dim=1)
            for a, b in zip(query.parameters(), key.parameters()):
                b.mul_(0.99).add_(a, alpha=0.01)
        q = nn.functional.normalize(query(x), dim=1)
        loss = nn.functional.cross_entropy(q @ k.T / 0.07, torch.arange(5))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return query, key


def verify(out):
    query, key = out
    assert torch.equal(query.weight, key.weight)  # no momentum at all: the teacher is the student


TRUTH = Truth(
    fault="the teacher's parameters share memory with the student's",
    names=("key.weight",),
    repair=("b.data = a.data.clone()",),
)
