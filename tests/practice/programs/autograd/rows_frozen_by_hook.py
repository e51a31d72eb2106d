"""Pretrained rows of an embedding are held by a hook on the weight; padding stays zero, the hook goes in the second stage."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Words(nn.Module):
    def __init__(self, vocab=14, dim=5, pad=0):
        super().__init__()
        self.table = nn.Embedding(vocab, dim, padding_idx=pad)
        self.rnn = nn.GRU(dim, 8, batch_first=True)
        self.out = nn.Linear(8, 2)

    def forward(self, ids):
        h, _ = self.rnn(self.table(ids))
        last = (ids != self.table.padding_idx).sum(1).clamp_min(1) - 1
        return self.out(h[torch.arange(len(ids)), last])


def install(model, rows, vectors):
    with torch.no_grad():
        model.table.weight[rows] = vectors
    keep = torch.ones(model.table.num_embeddings, 1)
    keep[rows] = 0.0
    return model.table.weight.register_hook(lambda grad: grad * keep)


def sentences(n):
    for _ in range(n):
        ids = torch.randint(1, 14, (8, 6))
        lengths = torch.randint(2, 7, (8,))
        ids[torch.arange(6) >= lengths[:, None]] = 0
        yield ids, (ids == 3).any(1).long()


def run():
    torch.manual_seed(0)
    model = Words()
    rows = torch.arange(1, 7)
    vectors = torch.randn(6, 5)
    handle = install(model, rows, vectors)
    decay = [p for n, p in model.named_parameters() if "weight" in n and "table" not in n]
    other = [p for n, p in model.named_parameters() if not ("weight" in n and "table" not in n)]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.1}, {"params": other, "weight_decay": 0.0}], lr=1e-2
    )
    before = model.table.weight.detach().clone()
    for ids, y in sentences(3):
        optimizer.zero_grad()
        F.cross_entropy(model(ids), y).backward()
        optimizer.step()
    held = model.table.weight[rows].detach().clone()
    handle.remove()  # second stage: everything is trained
    for ids, y in sentences(2):
        optimizer.zero_grad()
        F.cross_entropy(model(ids), y).backward()
        optimizer.step()
    weight = model.table.weight.detach()
    return {
        "held": torch.equal(held, vectors),
        "free": not torch.equal(before[7:], weight[7:]),
        "thawed": not torch.equal(held, weight[rows]),
        "padding": bool((weight[0] == 0).all()),
    }


def verify(outcome):
    assert all(outcome.values())


TRUTH = Truth()
