"""Masked language modelling: a batch without a masked token has the mean of nothing as its loss."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class MLM(nn.Module):
    def __init__(self, vocab=20, dim=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layer = nn.TransformerEncoderLayer(dim, 2, 16, dropout=0.0, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.layer(self.embed(ids)))


def masked_loss(logits, targets, mask):
    per_token = F.cross_entropy(logits.transpose(1, 2), targets, reduction="none")
    return per_token[mask].mean()  # cause


def run():
    torch.manual_seed(0)
    model = MLM()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for share in (0.5, 0.0):
        ids = torch.randint(1, 20, (2, 6))
        mask = torch.rand(2, 6) < share
        loss = masked_loss(model(ids.masked_fill(mask, 0)), ids, mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss


TRUTH = Truth(
    fault="the mean of no elements",
    values=True,
    repair=("return (per_token * mask).sum() / mask.sum().clamp(min=1)",),
)


def verify(loss):
    assert loss.isnan()
