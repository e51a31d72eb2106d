"""Tabular: Adam's state is restored by position, and the resumed script lists the parameters in another order."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

USERS, ITEMS, DIM = 10, 10, 6


class MatrixFactorisation(nn.Module):
    def __init__(self):
        super().__init__()
        self.users = nn.Embedding(USERS, DIM)
        self.items = nn.Embedding(ITEMS, DIM)
        self.user_bias = nn.Embedding(USERS, 1)
        self.item_bias = nn.Embedding(ITEMS, 1)
        for e in (self.users, self.items):
            nn.init.normal_(e.weight, std=0.3)

    def forward(self, u, i):
        return (self.users(u) * self.items(i)).sum(-1) + self.user_bias(u).squeeze(-1) + self.item_bias(i).squeeze(-1)


def ratings(n=40):
    u, i = torch.randint(0, USERS, (n,)), torch.randint(0, ITEMS, (n,))
    return u, i, (u * 0.3 - i * 0.1) + 0.1 * torch.randn(n)


def first_job(model):
    """The script of last week."""
    optimizer = torch.optim.Adam(
        [
            {"params": [model.users.weight, model.items.weight], "weight_decay": 1e-4},
            {"params": [model.user_bias.weight, model.item_bias.weight]},
        ],
        lr=1e-2,
    )
    epoch(model, optimizer, steps=3)
    return copy.deepcopy({"model": model.state_dict(), "optimizer": optimizer.state_dict()})


def make_optimizer(model, lr=1e-2):
    """The script of today, rewritten with names."""
    factors = [p for n, p in sorted(model.named_parameters()) if not n.endswith("bias.weight")]  # cause
    biases = [p for n, p in sorted(model.named_parameters()) if n.endswith("bias.weight")]  # cause
    return torch.optim.Adam([{"params": factors, "weight_decay": 1e-4}, {"params": biases}], lr=lr)


def epoch(model, optimizer, steps):
    for _ in range(steps):
        u, i, r = ratings()
        loss = F.mse_loss(model(u, i), r)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    old = MatrixFactorisation()
    checkpoint = first_job(old)
    saved = copy.deepcopy(checkpoint["optimizer"]["state"])

    model = MatrixFactorisation()
    model.load_state_dict(checkpoint["model"])
    optimizer = make_optimizer(model)
    optimizer.load_state_dict(checkpoint["optimizer"])  # also
    loaded = {
        n: optimizer.state[getattr(model, n).weight]["exp_avg"].clone()
        for n in ("users", "items", "user_bias", "item_bias")
    }
    epoch(model, optimizer, steps=2)
    return loaded, {"users": saved[0], "items": saved[1], "user_bias": saved[2], "item_bias": saved[3]}


def verify(outcome):
    loaded, saved = outcome
    for a, b in (("users", "items"), ("user_bias", "item_bias")):
        assert not torch.equal(loaded[a], saved[a]["exp_avg"])
        assert torch.equal(loaded[a], saved[b]["exp_avg"])


TRUTH = Truth(
    fault="the moments of users and items (and of their biases) are exchanged when the optimizer state is loaded",
    names=("users", "items"),
    repair=(
        'factors = [p for n, p in model.named_parameters() if not n.endswith("bias.weight")]',
        'biases = [p for n, p in model.named_parameters() if n.endswith("bias.weight")]',
    ),
)
