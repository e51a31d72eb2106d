"""Attention: the probabilities are masked in place after the softmax, which needs them."""

import math

import torch
from torch import nn

from tests.practice.truth import Truth


class SelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x, pad):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / math.sqrt(d // self.heads)
        attn = scores.softmax(-1)
        attn.masked_fill_(pad[:, None, None, :], 0.0)  # cause
        return self.out((attn @ v).transpose(1, 2).reshape(b, t, d))


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.attention = SelfAttention(8, 2)
        self.fc = nn.Linear(8, 3)

    def forward(self, ids):
        return self.fc(self.attention(self.embed(ids), ids.eq(0)).mean(1))


def run():
    torch.manual_seed(0)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(2):
        loss = nn.functional.cross_entropy(model(torch.randint(11, (4, 6))), torch.randint(3, (4,)))
        optimizer.zero_grad()
        loss.backward()  # symptom
        optimizer.step()


TRUTH = Truth(
    fault="the saved probabilities are overwritten",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    repair=("attn = attn.masked_fill(pad[:, None, None, :], 0.0)",),
)
