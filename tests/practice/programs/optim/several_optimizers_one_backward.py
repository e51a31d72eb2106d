"""Three optimizers share one backward: sparse Adam for the table, SGD for the body, and a slow one for a scale."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Recommender(nn.Module):
    def __init__(self, users, items, dim):
        super().__init__()
        self.users = nn.Embedding(users, dim, sparse=True)
        self.items = nn.Embedding(items, dim, sparse=True)
        self.mlp = nn.Sequential(nn.Linear(2 * dim, 12), nn.ReLU(), nn.Linear(12, 1))
        self.scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, u, i):
        return self.scale * self.mlp(torch.cat([self.users(u), self.items(i)], -1)).squeeze(-1)


class Optimizers(list):
    def __getattr__(self, name):
        return lambda *args, **kwargs: [getattr(opt, name)(*args, **kwargs) for opt in self]


def run():
    torch.manual_seed(0)
    model = Recommender(20, 30, 6)
    optimizers = Optimizers(
        [
            torch.optim.SparseAdam([*model.users.parameters(), *model.items.parameters()], lr=1e-2),
            torch.optim.SGD(model.mlp.parameters(), lr=5e-2, momentum=0.9),
            torch.optim.SGD([model.scale], lr=1e-3),
        ]
    )
    start = model.users.weight.detach().clone()
    seen, losses = set(), []
    for step in range(4):
        u, i = torch.randint(10, (8,)), torch.randint(30, (8,))
        clicked = ((u + i) % 2).float()
        loss = F.binary_cross_entropy_with_logits(model(u, i), clicked)
        optimizers.zero_grad()
        loss.backward()
        optimizers.step()
        if step == 2:
            for group in optimizers[1].param_groups:
                group["lr"] *= 0.1
        seen |= set(u.tolist())
        losses.append(loss.item())
    return model, start, seen, losses


TRUTH = Truth()


def verify(out):
    model, start, seen, losses = out
    moved = set((model.users.weight != start).any(1).nonzero().flatten().tolist())
    assert moved == seen and model.users.weight.grad.is_sparse
    assert model.scale.item() != 1.0 and all(0 < loss < 100 for loss in losses)
