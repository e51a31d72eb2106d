"""Matrix factorisation with side biases for implicit feedback (BPR)."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class BPRMF(nn.Module):
    def __init__(self, n_users, n_items, k=8):
        super().__init__()
        self.users = nn.Embedding(n_users, k, sparse=True)  # cause
        self.items = nn.Embedding(n_items, k, sparse=True)  # cause
        self.item_bias = nn.Parameter(torch.zeros(n_items))
        for e in (self.users, self.items):
            nn.init.normal_(e.weight, std=0.05)

    def score(self, u, i):
        return (self.users(u) * self.items(i)).sum(-1) + self.item_bias[i]

    def forward(self, u, pos, neg):
        return -F.logsigmoid(self.score(u, pos) - self.score(u, neg)).mean()


def sample(n_users, n_items, size):
    u = torch.randint(0, n_users, (size,))
    return u, (u * 3) % n_items, torch.randint(0, n_items, (size,))


def fit(model, n_users, n_items, epochs=2, batches=3):
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)  # also
    curve = []
    for _ in range(epochs):
        total = 0.0
        for _ in range(batches):
            loss = model(*sample(n_users, n_items, 32))
            opt.zero_grad()
            loss.backward()
            opt.step()  # symptom
            total += loss.item()
        curve.append(total / batches)
    return curve


def run():
    torch.manual_seed(0)
    return fit(BPRMF(50, 40), 50, 40)


TRUTH = Truth(
    fault="Adam cannot take the sparse gradients of the embeddings",
    raises="Adam does not support sparse gradients",
    names=("sparse",),
    repair=("self.users = nn.Embedding(n_users, k)", "self.items = nn.Embedding(n_items, k)"),
)


def well(out):
    assert len(out) == 2
