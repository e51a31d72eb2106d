"""Attention with an additive mask of -inf: rows that are wholly masked give NaN gradients, which nan_to_num hides from the loss."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def additive_mask(valid):
    """(batch, 1, query, key): zero where both are tokens, -inf elsewhere."""
    pair = valid[:, None, :, None] & valid[:, None, None, :]
    return torch.zeros(pair.shape).masked_fill(~pair, float("-inf"))  # cause


class SelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x, mask):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)) + mask
        attn = torch.nan_to_num(scores.softmax(-1))  # rows of padding  # also
        return self.proj((attn @ v).transpose(1, 2).reshape(b, t, d))


class Encoder(nn.Module):
    def __init__(self, vocab=30, dim=12, heads=2, classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = SelfAttention(dim, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 24), nn.GELU(), nn.Linear(24, dim))
        self.classify = nn.Linear(dim, classes)

    def forward(self, ids):
        valid = ids.ne(0)
        x = self.embed(ids)
        x = x + self.attn(self.norm1(x), additive_mask(valid))
        x = x + self.mlp(self.norm2(x))
        pooled = x.masked_fill(~valid[..., None], 0).sum(1) / valid.sum(1, keepdim=True)
        return self.classify(pooled)


def batch():
    ids = torch.randint(1, 30, (4, 7))
    for row, length in enumerate((7, 5, 4, 6)):
        ids[row, length:] = 0
    return ids, torch.randint(0, 3, (4,))


def step(model, optimizer, ids, labels):
    loss = F.cross_entropy(model(ids), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def run():
    torch.manual_seed(0)
    model = Encoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    first = step(model, optimizer, *batch())
    return math.isfinite(first), model.attn.qkv.weight.isnan().any().item()


def verify(outcome):
    assert outcome == (True, True), outcome


TRUTH = Truth(
    fault="a row of -inf only makes softmax NaN; nan_to_num mends the value but not the gradient: qkv turns to NaN",
    names=("qkv", "softmax"),
    values=True,
    repair=("return torch.zeros(pair.shape).masked_fill(~pair, -1e4)",),
)
