"""Llama-like rotary tables: cached at first use, which is the sanity check under inference_mode; training cannot save them."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class RotaryEmbedding(nn.Module):
    def __init__(self, dim, base=10000.0):
        super().__init__()
        self.register_buffer("inv_freq", base ** (-torch.arange(0, dim, 2) / dim), persistent=False)
        self.cos_cached = self.sin_cached = None

    def forward(self, seq_len):
        if self.cos_cached is None or len(self.cos_cached) < seq_len:
            freqs = torch.outer(torch.arange(seq_len).float(), self.inv_freq)
            emb = torch.cat([freqs, freqs], -1)
            self.cos_cached, self.sin_cached = emb.cos(), emb.sin()  # cause
        return self.cos_cached[:seq_len], self.sin_cached[:seq_len]


def rotate_half(x):
    a, b = x.chunk(2, -1)
    return torch.cat([-b, a], -1)


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(dim, dim, bias=False) for _ in range(4))
        self.rotary_emb = RotaryEmbedding(dim // heads)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (p(x).view(b, t, self.heads, -1).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        cos, sin = self.rotary_emb(t)
        q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin  # symptom
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).reshape(b, t, d))


class LlamaLite(nn.Module):
    def __init__(self, vocab=20, dim=16, heads=2):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, dim)
        self.self_attn = Attention(dim, heads)
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        x = self.embed_tokens(ids)
        return self.lm_head(x + self.self_attn(x))


class LightTrainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def loss(self, ids):
        return F.cross_entropy(self.model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())

    def validate(self, batches):
        self.model.eval()
        with torch.inference_mode():
            return sum(self.loss(b).item() for b in batches)

    def fit(self, train, val, epochs):
        self.validate(val[:1])  # sanity check  # also
        history = []
        for _ in range(epochs):
            self.model.train()
            for ids in train:
                self.optimizer.zero_grad()
                self.loss(ids).backward()
                self.optimizer.step()
            history.append(self.validate(val))
        return history


def run():
    torch.manual_seed(0)
    data = [torch.randint(0, 20, (4, 7)) for _ in range(3)]
    return LightTrainer(LlamaLite()).fit(data[:2], data[2:], epochs=2)


TRUTH = Truth(
    fault="the rotary tables were made in inference_mode and are kept: autograd may not save inference tensors for backward",
    raises="Inference tensors cannot be saved for backward",
    names=("cos_cached", "inference"),
    repair=(
        "with torch.inference_mode(False):\n    freqs = torch.outer(torch.arange(seq_len).float(), self.inv_freq.clone())\n    emb = torch.cat([freqs, freqs], -1)\n    self.cos_cached, self.sin_cached = emb.cos(), emb.sin()",
    ),
)
