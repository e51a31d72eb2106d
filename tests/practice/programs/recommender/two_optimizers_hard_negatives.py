"""Matrix factorisation: sparse tables under SparseAdam, a dense tower under Adam, negatives scored without grad."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TwoTower(nn.Module):
    def __init__(self, users=30, items=40, dim=8):
        super().__init__()
        self.users = nn.Embedding(users, dim, sparse=True)
        self.items = nn.Embedding(items, dim, sparse=True)
        self.tower = nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, dim))
        self.log_scale = nn.Parameter(torch.zeros(()))

    def user(self, u):
        return F.normalize(self.tower(self.users(u)), dim=-1)

    def forward(self, u, i):
        return self.log_scale.exp() * (self.user(u).unsqueeze(1) * F.normalize(self.items(i), dim=-1)).sum(-1)

    @torch.no_grad()
    def hard_negatives(self, u, count, pool=20):
        self.eval()
        candidates = torch.randint(self.items.num_embeddings, (len(u), pool))
        best = self(u, candidates).topk(count, 1).indices
        self.train()
        return candidates.gather(1, best)


def run():
    torch.manual_seed(0)
    model = TwoTower()
    tables = [model.users.weight, model.items.weight]
    opts = [
        torch.optim.SparseAdam(tables, lr=1e-2),
        torch.optim.Adam([*model.tower.parameters(), model.log_scale], lr=1e-3),
    ]
    for _ in range(3):
        u, i = torch.randint(30, (16,)), torch.randint(40, (16,))
        negatives = model.hard_negatives(u, 4)
        scores = model(u, torch.cat([i[:, None], negatives], 1))
        loss = F.cross_entropy(scores, torch.zeros(16, dtype=torch.long))
        for opt in opts:
            opt.zero_grad()
        loss.backward()
        for opt in opts:
            opt.step()
        with torch.no_grad():
            model.items.weight.div_(model.items.weight.norm(dim=1, keepdim=True).clamp_min(1.0))
            model.log_scale.clamp_(max=4.6)


TRUTH = Truth()
