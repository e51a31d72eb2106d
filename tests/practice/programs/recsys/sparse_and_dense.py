"""DeepFM-like ranker with sparse tables under SparseAdam and dense layers under Adam; rows not seen do not move: healthy."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class DeepFM(nn.Module):
    def __init__(self, fields=(50, 40, 10), dim=6):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(n, dim, sparse=True) for n in fields)
        self.linear = nn.ModuleList(nn.Embedding(n, 1, sparse=True) for n in fields)
        self.history = nn.EmbeddingBag(fields[1], dim, mode="sum", sparse=True)
        self.deep = nn.Sequential(
            nn.Linear(dim * (len(fields) + 1), 16), nn.ReLU(inplace=True), nn.Dropout(0.1), nn.Linear(16, 1)
        )
        self.bias = nn.Parameter(torch.zeros(1))
        for table in [*self.tables, *self.linear]:
            nn.init.normal_(table.weight, std=0.05)

    def forward(self, ids, history, offsets):
        v = torch.stack([t(c) for t, c in zip(self.tables, ids.unbind(1))], 1)
        first = torch.cat([t(c) for t, c in zip(self.linear, ids.unbind(1))], 1).sum(1)
        second = 0.5 * (v.sum(1).square() - v.square().sum(1)).sum(1)
        bag = self.history(history, offsets)
        deep = self.deep(torch.cat([v.flatten(1), bag], 1)).squeeze(1)
        return first + second + deep + self.bias


def split_parameters(model):
    sparse = [p for m in model.modules() if isinstance(m, (nn.Embedding, nn.EmbeddingBag)) for p in m.parameters()]
    known = {id(p) for p in sparse}
    return sparse, [p for p in model.parameters() if id(p) not in known]


def impressions(n=16):
    ids = torch.stack([torch.randint(0, 20, (n,)), torch.randint(0, 40, (n,)), torch.randint(0, 10, (n,))], 1)
    lengths = torch.randint(1, 5, (n,))
    offsets = torch.cat([torch.zeros(1, dtype=torch.long), lengths.cumsum(0)[:-1]])
    return ids, torch.randint(0, 40, (int(lengths.sum()),)), offsets, (ids[:, 2] % 2).float()


def run():
    torch.manual_seed(0)
    model = DeepFM()
    sparse, dense = split_parameters(model)
    optimizers = [torch.optim.SparseAdam(sparse, lr=1e-2), torch.optim.Adam(dense, lr=1e-3)]
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    kinds = []
    for _ in range(4):
        model.train()
        ids, history, offsets, clicks = impressions()
        loss = F.binary_cross_entropy_with_logits(model(ids, history, offsets), clicks)
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(dense, 5.0)
        kinds.append(all(p.grad.is_sparse for p in sparse) and not any(p.grad.is_sparse for p in dense))
        for optimizer in optimizers:
            optimizer.step()
    users = model.tables[0].weight.detach()
    return kinds, before, dict(model.named_parameters()), users


def verify(outcome):
    kinds, before, after, users = outcome
    assert all(kinds) and all(not torch.equal(before[n], p) for n, p in after.items())
    assert torch.equal(users[20:], before["tables.0.weight"][20:])


TRUTH = Truth()
