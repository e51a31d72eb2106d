"""Prefix tuning: learned keys and values go into a frozen decoder as a cache that is built anew at each step."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x, past):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        P = k.shape[2] - T
        mask = torch.ones(T, P + T, dtype=torch.bool).tril(P)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.proj(y.transpose(1, 2).reshape(B, T, C))


class Decoder(nn.Module):
    def __init__(self, vocab=14, dim=8, layers=2, heads=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.attn = nn.ModuleList(Attention(dim, heads) for _ in range(layers))
        self.norm = nn.ModuleList(nn.LayerNorm(dim) for _ in range(layers))
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids, past):
        x = self.embed(ids)
        for attn, norm, kv in zip(self.attn, self.norm, past):
            x = x + attn(norm(x), kv)
        return self.head(x)


class Prefix(nn.Module):
    def __init__(self, layers=2, heads=2, length=3, head_dim=4):
        super().__init__()
        self.shape = (layers, 2, heads, length, head_dim)
        self.seed = nn.Embedding(length, 8)
        self.mlp = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, layers * 2 * heads * head_dim))

    def forward(self, batch):
        layers, two, heads, length, d = self.shape
        kv = self.mlp(self.seed(torch.arange(length))).view(length, layers, two, heads, d)
        return kv.permute(1, 2, 3, 0, 4).unsqueeze(2).expand(-1, -1, batch, -1, -1, -1)


def run():
    torch.manual_seed(0)
    model, prefix = Decoder(), Prefix()
    model.eval()
    for p in model.parameters():
        p.requires_grad_(False)
    optimizer = torch.optim.AdamW(prefix.parameters(), lr=5e-2)
    losses = []
    for _ in range(4):
        ids = torch.randint(14, (4, 5))
        logits = model(ids, prefix(len(ids)))
        loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        cached = prefix(1).clone()
    return model, prefix, losses, cached


TRUTH = Truth()


def verify(out):
    model, prefix, losses, cached = out
    assert all(p.grad is None for p in model.parameters())
    assert prefix.seed.weight.grad.abs().sum() > 0 and all(p.grad is not None for p in prefix.parameters())
    assert not cached.requires_grad and all(0 < loss < 100 for loss in losses)
