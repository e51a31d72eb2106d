"""JAX to PyTorch: `scores = scores.at[...].set(-inf)` became a masked_fill whose result is thrown away; attention sees the future."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

NEG_INF = -1e9


class CausalSelfAttention(nn.Module):
    def __init__(self, dim=16, heads=2):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        batch, length, dim = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, dim // self.heads).transpose(1, 2)
            for part in self.qkv(x).chunk(3, dim=-1)
        )
        scores = q @ k.transpose(-2, -1) / (dim // self.heads) ** 0.5
        future = torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1)
        scores.masked_fill(future, NEG_INF)  # cause
        mixed = (scores.softmax(dim=-1) @ v).transpose(1, 2).reshape(batch, length, dim)
        return self.proj(mixed)


class CharModel(nn.Module):
    def __init__(self, vocab=20, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.norm = nn.LayerNorm(dim)
        self.attention = CausalSelfAttention(dim)
        self.logits = nn.Linear(dim, vocab)

    def embed_to_logits(self, x):
        return self.logits(x + self.attention(self.norm(x)))

    def forward(self, tokens):
        return self.embed_to_logits(self.embed(tokens))


def run():
    torch.manual_seed(0)
    model = CharModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(3):
        tokens = torch.randint(0, 20, (4, 9))
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    embedded = model.embed(torch.randint(0, 20, (1, 8))).detach().requires_grad_()
    (sensitivity,) = torch.autograd.grad(model.embed_to_logits(embedded)[0, 2].sum(), embedded)
    return sensitivity[0].abs().sum(dim=-1)


def verify(sensitivity):
    assert sensitivity[5] > 0


TRUTH = Truth(
    fault="the causal mask is not applied: masked_fill returns a new tensor that nobody keeps",
    names=("masked_fill",),
    repair=("scores = scores.masked_fill(future, NEG_INF)",),
)
