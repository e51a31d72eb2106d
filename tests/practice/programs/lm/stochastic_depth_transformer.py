"""Stochastic depth: whole layers are skipped at random in training, so some get no gradient in a step."""

import random

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.ffn = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, x):
        h = self.n1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.ffn(self.n2(x))


class Encoder(nn.Module):
    def __init__(self, vocab=18, dim=8, depth=4, drop=0.6):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(Layer(dim) for _ in range(depth))
        self.rates = torch.linspace(0, drop, depth).tolist()
        self.head = nn.Linear(dim, 2)

    def forward(self, ids):
        x, self.used = self.embed(ids), []
        for i, (layer, rate) in enumerate(zip(self.layers, self.rates)):
            if self.training and random.random() < rate:
                continue
            self.used.append(i)
            out = layer(x)
            x = x + (out - x) / (1 - rate) if self.training else out
        return self.head(x.mean(1))


def run():
    torch.manual_seed(0)
    random.seed(2)
    model = Encoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    history, losses = [], []
    for _ in range(4):
        model.train()
        ids, y = torch.randint(18, (4, 5)), torch.randint(2, (4,))
        loss = F.cross_entropy(model(ids), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        with_grad = [i for i, m in enumerate(model.layers) if m.ffn[0].weight.grad is not None]
        history.append((list(model.used), with_grad))
        model.eval()
        with torch.no_grad():
            losses.append(F.cross_entropy(model(ids), y).item())
    return model, history, losses


TRUTH = Truth()


def verify(out):
    model, history, losses = out
    assert all(a == b for a, b in history) and any(len(a) < 4 for a, _ in history)
    assert model.used == [0, 1, 2, 3] and all(0 < loss < 100 for loss in losses)
