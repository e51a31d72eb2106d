"""Attention by hand under autocast: fully masked rows are -inf in every place, and their softmax is NaN."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class MaskedAttention(nn.Module):
    def __init__(self, dim, heads=2):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x, pad):
        b, t, d = x.shape
        q, k, v = (s.view(b, t, self.heads, -1).transpose(1, 2) for s in self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-2, -1) / (d // self.heads) ** 0.5
        scores = scores.masked_fill(pad[:, None, None, :], float("-inf"))  # cause
        att = scores.softmax(-1)
        return self.out((att @ v).transpose(1, 2).reshape(b, t, d))


class SetEncoder(nn.Module):
    def __init__(self, inp=4, dim=8, classes=3):
        super().__init__()
        self.embed, self.attn, self.norm = nn.Linear(inp, dim), MaskedAttention(dim), nn.LayerNorm(dim)
        self.fc = nn.Linear(dim, classes)

    def forward(self, x, pad):
        h = self.embed(x)
        h = self.norm(h + self.attn(h, pad))
        h = h.masked_fill(pad[..., None], 0)
        return self.fc(h.sum(1) / (~pad).sum(1, keepdim=True).clamp(min=1))


def collate(sizes, width=5):
    x = torch.randn(len(sizes), width, 4)
    pad = torch.arange(width)[None] >= torch.tensor(sizes)[:, None]
    return x.masked_fill(pad[..., None], 0), pad


def run():
    torch.manual_seed(0)
    model = SetEncoder()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    log = []
    for sizes in ([5, 3, 4], [2, 0, 5], [4, 4, 1]):  # an empty set in the second batch
        x, pad = collate(sizes)
        y = torch.randint(0, 3, (3,))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x, pad), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        log.append(loss.item())
        print(f"sets of {sizes}: loss {log[-1]:.4f}")
    return model, log


def verify(out):
    model, log = out
    assert log[1] == log[1] and model.attn.qkv.weight.isnan().any()  # a finite loss, NaN gradients


TRUTH = Truth(
    fault="the softmax of a row that is all -inf is NaN, also in its gradient",
    values=True,
    repair=("scores = scores.masked_fill(pad[:, None, None, :], torch.finfo(scores.dtype).min)",),
)
