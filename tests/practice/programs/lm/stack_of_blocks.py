"""A transformer's layers are made by `[block] * depth`: one layer, used three times, instead of three."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class EncoderLayer(nn.Module):
    def __init__(self, dim, heads, drop=0.1):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, heads, dropout=drop, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, x, pad):
        h = self.n1(x)
        x = x + self.attn(h, h, h, key_padding_mask=pad, need_weights=False)[0]
        return x + self.ff(self.n2(x))


class Encoder(nn.Module):
    def __init__(self, layer, depth, dim):
        super().__init__()
        self.layers = nn.ModuleList([layer] * depth)  # cause
        self.norm = nn.LayerNorm(dim)

    def forward(self, x, pad):
        for layer in self.layers:
            x = layer(x, pad)
        return self.norm(x)


class Tagger(nn.Module):
    def __init__(self, vocab=25, dim=12, depth=3, tags=4):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.pos = nn.Parameter(torch.randn(1, 10, dim) * 0.02)
        self.encoder = Encoder(EncoderLayer(dim, 2), depth, dim)
        self.out = nn.Linear(dim, tags)

    def forward(self, ids):
        x = self.emb(ids) + self.pos[:, : ids.shape[1]]
        return self.out(self.encoder(x, ids == 0))


def batch(n=6, length=8):
    ids = torch.randint(1, 25, (n, length))
    lengths = torch.randint(3, length + 1, (n,))
    ids[torch.arange(length)[None] >= lengths[:, None]] = 0
    return ids, torch.where(ids > 0, ids % 4, -100)


def run():
    torch.manual_seed(0)
    model = Tagger()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    print(f"{len(model.encoder.layers)} layers, {sum(p.numel() for p in model.encoder.parameters())} weights")
    for step in range(2):
        ids, tags = batch()
        loss = F.cross_entropy(model(ids).flatten(0, 1), tags.flatten(), ignore_index=-100)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        print(f"step {step} loss {loss.item():.4f}")
    return model


def verify(out):
    assert len({id(layer) for layer in out.encoder.layers}) == 1


TRUTH = Truth(
    fault="all layers are one module",
    names=("layers",),
    minor=True,  # ALBERT shares one layer on purpose
    repair=("import copy\nself.layers = nn.ModuleList(copy.deepcopy(layer) for _ in range(depth))",),
)
