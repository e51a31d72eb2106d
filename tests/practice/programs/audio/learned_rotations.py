"""Audio: rotary frequencies are learned, but what was made of them is cached, with a graph that is used up after one step."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

DIM, HEADS, MELS = 16, 2, 10


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat([-b, a], dim=-1)


class RotaryEmbedding(nn.Module):
    def __init__(self, dim, learned=True):
        super().__init__()
        freqs = 1.0 / (100.0 ** (torch.arange(0, dim, 2).float() / dim))
        self.freqs = nn.Parameter(freqs, requires_grad=learned)
        self.cached = None

    def angles(self, length):
        if self.cached is not None and self.cached[0].shape[0] >= length:  # cause
            cos, sin = self.cached
            return cos[:length], sin[:length]
        t = torch.arange(length).float()
        angle = torch.outer(t, self.freqs)
        angle = torch.cat([angle, angle], dim=-1)
        self.cached = angle.cos(), angle.sin()  # also
        return self.cached

    def forward(self, x):
        cos, sin = self.angles(x.shape[-2])
        return x * cos + rotate_half(x) * sin


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(DIM, 3 * DIM)
        self.out = nn.Linear(DIM, DIM)
        self.rotary = RotaryEmbedding(DIM // HEADS)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(self.rotary(q), self.rotary(k), v)
        return self.out(y.transpose(1, 2).reshape(b, t, DIM))


class Tagger(nn.Module):
    def __init__(self, tags=5):
        super().__init__()
        self.inp = nn.Linear(MELS, DIM)
        self.attention = Attention()
        self.norm = nn.LayerNorm(DIM)
        self.out = nn.Linear(DIM, tags)

    def forward(self, mel):
        x = self.inp(mel)
        return self.out(self.norm(x + self.attention(x)).mean(1))


def run():
    torch.manual_seed(0)
    model = Tagger()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for frames in (12, 9, 12):
        mel, tags = torch.randn(4, frames, MELS), torch.randint(0, 2, (4, 5)).float()
        loss = F.binary_cross_entropy_with_logits(model(mel), tags)
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()
        losses.append(loss.item())
    return losses


TRUTH = Truth(
    fault="the cached cos and sin belong to the graph of the first step, which its backward has freed",
    raises="Trying to backward through the graph a second time",
    names=("cached", "freqs"),
    repair=("if not self.freqs.requires_grad and self.cached is not None and self.cached[0].shape[0] >= length:",),
)
