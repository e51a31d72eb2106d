"""Fine-tuning: the keys and values of a trainable prefix are computed once and kept, so that the second backward meets a freed graph."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class CachedAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim)

    def split(self, t):
        return t.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, past):
        q, k, v = (self.split(t) for t in self.qkv(self.norm(x)).chunk(3, -1))
        k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        n, m = q.size(2), k.size(2)
        mask = torch.ones(n, m, dtype=torch.bool).tril(m - n)
        att = (q @ k.transpose(-1, -2) / math.sqrt(q.size(-1))).masked_fill(~mask, float("-inf"))
        return x + self.out((att.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Backbone(nn.Module):
    def __init__(self, vocab=30, dim=16, layers=2, heads=2):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.h = nn.ModuleList(CachedAttention(dim, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(dim)

    def forward(self, ids, past_key_values):
        x = self.wte(ids)
        for block, past in zip(self.h, past_key_values):
            x = block(x, past)
        return self.ln_f(x) @ self.wte.weight.t()


class PrefixEncoder(nn.Module):
    """Prefix tokens, re-parameterised by a small network."""

    def __init__(self, length=4, layers=2, dim=16, hidden=8):
        super().__init__()
        self.embedding = nn.Embedding(length, hidden)
        self.trans = nn.Sequential(nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, layers * 2 * dim))
        self.register_buffer("tokens", torch.arange(length), persistent=False)

    def forward(self):
        return self.trans(self.embedding(self.tokens))


class PrefixTuning(nn.Module):
    def __init__(self, backbone, dropout=0.0):
        super().__init__()
        self.backbone = backbone.requires_grad_(False)
        self.prefix_encoder = PrefixEncoder()
        self.dropout = nn.Dropout(dropout)
        self._past = None

    def get_prompt(self, batch_size):
        if self._past is None:  # cause
            flat = self.dropout(self.prefix_encoder())
            self._past = flat.unflatten(-1, (2, 2, 2, -1)).permute(1, 2, 3, 0, 4)  # also
        past = self._past.unsqueeze(2).expand(-1, -1, batch_size, -1, -1, -1)
        return [(layer[0], layer[1]) for layer in past]

    def forward(self, ids, labels):
        logits = self.backbone(ids, self.get_prompt(ids.size(0)))
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=-100)


def batches(n):
    for _ in range(n):
        ids = torch.randint(0, 30, (4, 8))
        labels = ids.clone()
        labels[:, :2] = -100
        yield ids, labels


def run():
    torch.manual_seed(0)
    model = PrefixTuning(Backbone())
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    losses = []
    for ids, labels in batches(3):
        loss = model(ids, labels)
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
        losses.append(loss.item())
    return losses


TRUTH = Truth(
    fault="the prefix keys and values are cached together with the graph of the first step",
    raises="Trying to backward through the graph a second time",
    names=("_past", "prefix_encoder"),
    repair=("if self._past is None or self.training:",),
)
