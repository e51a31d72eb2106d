"""A sparse embedding and an optimizer with weight decay."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    users = nn.Embedding(50, 8, sparse=True)  # cause
    items = nn.Embedding(40, 8)
    opt = torch.optim.SGD([*users.parameters(), *items.parameters()], lr=0.1, weight_decay=1e-4)  # cause
    for _ in range(2):
        u, i, r = torch.randint(50, (16,)), torch.randint(40, (16,)), torch.rand(16)
        loss = ((users(u) * items(i)).sum(1) - r).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return users


TRUTH = Truth(
    fault="weight decay does not work with sparse gradients",
    raises="add(sparse, dense) is not supported",
    names=("sparse",),
    repair=(
        "users = nn.Embedding(50, 8)",
        "opt = torch.optim.SGD([*users.parameters(), *items.parameters()], lr=0.1, weight_decay=1e-4)",
    ),
)
