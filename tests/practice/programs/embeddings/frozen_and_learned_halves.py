"""Pretrained vectors stay fixed beside a learned table of the same words, and hashed rare words share rows."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TwoTables(nn.Module):
    def __init__(self, pretrained, buckets):
        super().__init__()
        vocab, dim = pretrained.shape
        self.static = nn.Embedding.from_pretrained(pretrained, freeze=True, padding_idx=0)
        self.learned = nn.Embedding(vocab, dim, padding_idx=0)
        self.rare = nn.EmbeddingBag(buckets, dim, mode="sum")
        with torch.no_grad():
            self.learned.weight.copy_(pretrained)
        self.conv = nn.Conv1d(2 * dim, 8, 3, padding=1)
        self.out = nn.Linear(8, 2)

    def forward(self, ids, hashed):
        a = self.static(ids)
        b = self.learned(ids) + self.rare(hashed.flatten(0, 1)).view_as(a)
        h = self.conv(torch.cat([a, b], -1).transpose(1, 2))
        h = h.masked_fill((ids == 0)[:, None], float("-inf")).amax(2)
        return self.out(torch.relu(h))


def run():
    torch.manual_seed(0)
    pretrained = torch.randn(20, 4)
    pretrained[0] = 0
    model = TwoTables(pretrained.clone(), 6)
    optimizer = torch.optim.AdamW(
        [
            {
                "params": [p for p in model.learned.parameters()] + [p for p in model.rare.parameters()],
                "weight_decay": 0.0,
            },
            {"params": [*model.conv.parameters(), *model.out.parameters()]},
        ],
        lr=1e-2,
    )
    losses = []
    for _ in range(3):
        ids = torch.randint(1, 20, (6, 7))
        ids[:3, 5:] = 0
        hashed = torch.stack([ids % 6, (ids * 7 + 3) % 6], -1)
        loss = F.cross_entropy(model(ids, hashed), (ids == 5).any(1).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return model, pretrained, losses


TRUTH = Truth()


def verify(out):
    model, pretrained, losses = out
    assert torch.equal(model.static.weight, pretrained) and model.static.weight.grad is None
    assert model.learned.weight[0].abs().sum() == 0 and not torch.equal(model.learned.weight, pretrained)
    assert all(torch.isfinite(p).all() for p in model.parameters()) and losses[-1] < 100
