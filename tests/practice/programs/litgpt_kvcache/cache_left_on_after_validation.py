"""LitGPT-like: validation samples with a KV cache and leaves it on: training goes on through cached keys and values."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class KVCache(nn.Module):
    def __init__(self, batch, heads, length, dim):
        super().__init__()
        self.register_buffer("k", torch.zeros(batch, heads, length, dim), persistent=False)
        self.register_buffer("v", torch.zeros(batch, heads, length, dim), persistent=False)

    @torch.no_grad()
    def forward(self, pos, k, v):
        self.k[: k.shape[0], :, pos] = k
        self.v[: k.shape[0], :, pos] = v
        end = int(pos[-1]) + 1
        return self.k[: k.shape[0], :, :end].clone(), self.v[: k.shape[0], :, :end].clone()


class CausalSelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        self.proj = nn.Linear(dim, dim)
        self.kv_cache = None

    def forward(self, x, pos):
        b, t, c = x.shape
        q, k, v = (f(x).view(b, t, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        if self.kv_cache is not None:
            k, v = self.kv_cache(pos, k, v)
        mask = torch.arange(k.shape[2])[None] <= pos[:, None]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.proj(y.transpose(1, 2).reshape(b, t, c))


class GPT(nn.Module):
    def __init__(self, vocab=20, dim=16, heads=2, block_size=12):
        super().__init__()
        self.block_size = block_size
        self.wte = nn.Embedding(vocab, dim)
        self.norm = nn.LayerNorm(dim)
        self.attn = CausalSelfAttention(dim, heads)
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def set_kv_cache(self, batch_size):
        a = self.attn
        a.kv_cache = KVCache(batch_size, a.heads, self.block_size, a.q.out_features // a.heads)

    def clear_kv_cache(self):
        self.attn.kv_cache = None

    def forward(self, idx, input_pos=None):
        pos = torch.arange(idx.shape[1]) if input_pos is None else input_pos
        x = self.wte(idx)
        return self.lm_head(x + self.attn(self.norm(x), pos))


@torch.no_grad()
def validate(model, prompt, n_new):
    model.eval()
    model.set_kv_cache(batch_size=4)
    idx, pos = prompt, torch.arange(prompt.shape[1])
    for _ in range(n_new):
        nxt = model(idx[:, pos], pos)[:, -1].argmax(-1, keepdim=True)
        idx, pos = torch.cat([idx, nxt], 1), pos[-1:] + 1
    model.train()  # cause
    return idx


def run():
    torch.manual_seed(0)
    model = GPT()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    moved = []
    for it in range(4):
        tokens = torch.randint(0, 20, (4, 9))
        before = model.attn.v.weight.detach().clone()
        loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        moved.append((model.attn.v.weight.detach() - before).abs().max().item())
        if it == 1:
            validate(model, tokens[:1, :3], 4)
    return moved


def verify(outcome):
    assert outcome[0] > 0 and outcome[1] > 0
    assert outcome[2] == outcome[3] == 0.0


TRUTH = Truth(
    fault="the KV cache set for sampling is not cleared, and it is filled under no_grad: attn.k and attn.v stop learning after validation",
    names=("attn.v",),
    repair=("model.clear_kv_cache(); model.train()",),
)
