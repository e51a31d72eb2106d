"""Recommender: sparse embedding gradients go to SparseAdam, dense ones to AdamW; rows that were not looked up stay bit for bit."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class TwoTower(nn.Module):
    def __init__(self, users, items, dim=6):
        super().__init__()
        self.user = nn.Embedding(users, dim, sparse=True)
        self.item = nn.EmbeddingBag(items, dim, sparse=True, mode="sum")
        self.mlp = nn.Sequential(nn.Linear(2 * dim, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, user, bags):
        return self.mlp(torch.cat([self.user(user), self.item(bags)], 1)).squeeze(1)


class Pair:
    def __init__(self, *optimizers):
        self.optimizers = optimizers

    def zero_grad(self):
        for o in self.optimizers:
            o.zero_grad(set_to_none=True)

    def step(self):
        for o in self.optimizers:
            o.step()


def run():
    torch.manual_seed(0)
    model = TwoTower(20, 15)
    tables = [model.user.weight, model.item.weight]
    opt = Pair(torch.optim.SparseAdam(tables, lr=0.02), torch.optim.AdamW(model.mlp.parameters(), lr=0.01))
    log = []
    for _ in range(3):
        user, bags = torch.randint(10, (6,)), torch.randint(8, (6, 3))
        y = torch.randint(2, (6,)).float()
        before = {k: v.clone() for k, v in model.state_dict().items()}
        loss = F.binary_cross_entropy_with_logits(model(user, bags), y)
        opt.zero_grad()
        loss.backward()
        grads = {
            n: p.grad.coalesce().to_dense() if p.grad.is_sparse else p.grad.clone() for n, p in model.named_parameters()
        }
        kinds = [p.grad.is_sparse for p in model.parameters()]
        opt.step()
        log.append((user, bags, y, before, grads, kinds, {k: v.clone() for k, v in model.state_dict().items()}))
    return log


def verify(log):
    m, v = torch.zeros(20, 6), torch.zeros(20, 6)
    for t, (user, bags, y, before, grads, kinds, after) in enumerate(log, start=1):
        assert kinds == [True, True, False, False, False, False]
        p = {k: w.clone().requires_grad_() for k, w in before.items()}
        x = torch.cat([p["user.weight"][user], p["item.weight"][bags].sum(1)], 1)
        h = torch.relu(x @ p["mlp.0.weight"].T + p["mlp.0.bias"])
        z = (h @ p["mlp.2.weight"].T + p["mlp.2.bias"]).squeeze(1)
        loss = (F.softplus(z) - y * z).mean()
        for (n, _), g in zip(p.items(), torch.autograd.grad(loss, list(p.values()))):
            assert torch.allclose(g, grads[n], atol=1e-6), n
        rows = user.unique()
        g = grads["user.weight"][rows]
        m[rows], v[rows] = 0.9 * m[rows] + 0.1 * g, 0.999 * v[rows] + 0.001 * g * g
        want = before["user.weight"].clone()
        want[rows] -= 0.02 * (1 - 0.999**t) ** 0.5 / (1 - 0.9**t) * m[rows] / (v[rows].sqrt() + 1e-8)
        assert torch.allclose(want, after["user.weight"], atol=1e-6)
        others = torch.ones(20, dtype=torch.bool)
        others[rows] = False
        assert torch.equal(before["user.weight"][others], after["user.weight"][others])
    assert all(not torch.equal(log[0][3][k], log[-1][6][k]) for k in log[0][3])


TRUTH = Truth()
