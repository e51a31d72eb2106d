"""Sequence scoring: padded queries have every key masked with -inf, so softmax makes NaN and the gradients are NaN."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth

PAD = 0


class SelfAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.scale = 1 / math.sqrt(dim)

    def forward(self, x, keep):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = q @ k.transpose(1, 2) * self.scale
        allowed = keep.unsqueeze(1) & keep.unsqueeze(2)
        scores = scores.masked_fill(~allowed, float("-inf"))  # cause
        att = F.softmax(scores, dim=-1)  # also
        return self.proj(att @ v)


class SentenceScorer(nn.Module):
    def __init__(self, vocab=30, dim=16):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.att = SelfAttention(dim)
        self.out = nn.Linear(dim, 1)

    def forward(self, tokens):
        keep = tokens != PAD
        h = self.att(self.emb(tokens), keep)
        # positions that are padding do not count
        h = torch.where(keep.unsqueeze(-1), h, torch.zeros_like(h))
        return self.out(h.sum(1) / keep.sum(1, keepdim=True)).squeeze(-1)


def make_batch(g):
    tokens = torch.randint(1, 30, (6, 7), generator=g)
    lengths = torch.tensor([7, 5, 6, 3, 7, 4])
    tokens[torch.arange(7)[None] >= lengths[:, None]] = PAD
    return tokens, torch.rand(6, generator=g)


def run():
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(1)
    model = SentenceScorer()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    for _ in range(3):
        tokens, y = make_batch(g)
        loss = F.mse_loss(model(tokens), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses, model.att.qkv.weight.detach().clone()


def verify(outcome):
    losses, weight = outcome
    assert math.isfinite(losses[0])
    assert torch.isnan(weight).any()


TRUTH = Truth(
    fault="rows of the attention scores are wholly -inf, so softmax gives NaN, and its gradient is NaN although the rows are masked later",
    names=("softmax",),
    values=True,
    repair=("scores = scores.masked_fill(~allowed, -1e9)",),
)
