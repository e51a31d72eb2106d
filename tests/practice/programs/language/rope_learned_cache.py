"""Language modelling: rotary angles are cached by the first (warm-up) evaluation, so that the learned frequencies never train."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def rotate_half(x):
    x1, x2 = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((-x2, x1), dim=-1).flatten(-2)


class RotaryEmbedding(nn.Module):
    def __init__(self, dim, theta=10000.0, learned_freq=False, cache_if_possible=True):
        super().__init__()
        freqs = 1.0 / (theta ** (torch.arange(0, dim, 2).float() / dim))
        self.freqs = nn.Parameter(freqs, requires_grad=learned_freq)
        self.learned_freq = learned_freq
        self.cache_if_possible = cache_if_possible
        self.register_buffer("cached_freqs", None, persistent=False)

    def forward(self, seq_len):
        should_cache = self.cache_if_possible  # cause
        if should_cache and self.cached_freqs is not None and len(self.cached_freqs) >= seq_len:
            return self.cached_freqs[:seq_len]  # also
        t = torch.arange(seq_len, dtype=self.freqs.dtype)
        freqs = torch.einsum("i,j->ij", t, self.freqs).repeat_interleave(2, dim=-1)
        if should_cache:
            self.cached_freqs = freqs.detach()  # also
        return freqs

    def rotate_queries_or_keys(self, t):
        freqs = self.forward(t.shape[-2])
        return t * freqs.cos() + rotate_half(t) * freqs.sin()


class Attention(nn.Module):
    def __init__(self, dim, heads, rotary):
        super().__init__()
        self.heads, self.rotary = heads, rotary
        self.norm = nn.LayerNorm(dim)
        self.to_qkv = nn.Linear(dim, dim * 3, bias=False)
        self.to_out = nn.Linear(dim, dim, bias=False)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.to_qkv(self.norm(x)).chunk(3, -1))
        q, k = self.rotary.rotate_queries_or_keys(q), self.rotary.rotate_queries_or_keys(k)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.to_out(out.transpose(1, 2).flatten(-2))


class Transformer(nn.Module):
    def __init__(self, vocab=32, dim=16, depth=2, heads=2):
        super().__init__()
        self.rotary = RotaryEmbedding(dim // heads, learned_freq=True)
        self.token_emb = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList()
        for _ in range(depth):
            ff = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim * 2), nn.GELU(), nn.Linear(dim * 2, dim))
            self.layers.append(nn.ModuleList([Attention(dim, heads, self.rotary), ff]))
        self.to_logits = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.token_emb(ids)
        for attn, ff in self.layers:
            x = attn(x)
            x = x + ff(x)
        return self.to_logits(x)


def next_token_loss(model, ids):
    return F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())


@torch.no_grad()
def validate(model, ids):
    model.eval()
    loss = next_token_loss(model, ids).item()
    model.train()
    return loss


def run():
    torch.manual_seed(0)
    model = Transformer()
    optim = torch.optim.Adam(model.parameters(), lr=1e-2)
    start = model.rotary.freqs.detach().clone()
    val = torch.randint(0, 32, (4, 13))
    curve = [validate(model, val)]
    for _ in range(3):
        for _ in range(2):
            (next_token_loss(model, torch.randint(0, 32, (4, 13))) / 2).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optim.step()
        optim.zero_grad()
        curve.append(validate(model, val))
    return start, model.rotary.freqs.detach().clone()


def verify(outcome):
    start, end = outcome
    assert torch.equal(start, end)


TRUTH = Truth(
    fault="the learned rotary frequencies are cached (detached), so they get no gradient",
    names=("freqs",),
    repair=("should_cache = self.cache_if_possible and not self.learned_freq",),
)
