"""A matrix factorisation with sparse embeddings under AdamW."""

import torch
from torch import nn

from tests.practice.truth import Truth


class MF(nn.Module):
    def __init__(self, users, items, dim=6):
        super().__init__()
        self.users = nn.Embedding(users, dim, sparse=True)  # also
        self.items = nn.Embedding(items, dim, sparse=True)
        self.user_bias = nn.Embedding(users, 1)
        nn.init.normal_(self.users.weight, std=0.01)
        nn.init.normal_(self.items.weight, std=0.01)

    def forward(self, u, i):
        return (self.users(u) * self.items(i)).sum(-1) + self.user_bias(u).squeeze(-1)


def run():
    torch.manual_seed(0)
    model = MF(10, 12)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)  # cause
    for _ in range(2):
        u, i = torch.randint(10, (16,)), torch.randint(12, (16,))
        loss = (model(u, i) - torch.rand(16)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()  # symptom


TRUTH = Truth(
    fault="AdamW takes no sparse gradients",
    raises="Adam does not support sparse gradients",
    repair=("optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)",),
)
