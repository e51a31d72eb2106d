"""A compiled decoder with a cache in buffers: written while it generates under no_grad, not while it learns."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


class Decoder(nn.Module):
    def __init__(self, words=11, width=6, longest=8):
        super().__init__()
        self.embed, self.qkv = nn.Embedding(words, width), nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, words)
        self.register_buffer("keys", torch.zeros(1, longest, width), persistent=False)
        self.register_buffer("values", torch.zeros(1, longest, width), persistent=False)

    def forward(self, ids, start=None):
        q, k, v = self.qkv(self.embed(ids)).chunk(3, -1)
        if start is not None:
            self.keys[:, start : start + ids.shape[1]] = k
            self.values[:, start : start + ids.shape[1]] = v
            k, v = self.keys[:, : start + ids.shape[1]], self.values[:, : start + ids.shape[1]]
        return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=start is None))


def setup():
    global decoder, optimizer
    torch.manual_seed(0)
    decoder = torch.compile(Decoder(), backend=BACKEND)
    optimizer = torch.optim.AdamW(decoder.parameters(), lr=1e-2)


def run():
    for _ in range(2):
        decoder.train()
        ids = torch.randint(11, (2, 6))
        optimizer.zero_grad()
        F.cross_entropy(decoder(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten()).backward()
        optimizer.step()
        decoder.eval()
        with torch.no_grad():
            token = ids[:1, :1]
            for at in range(3):
                token = decoder(token, at)[:, -1:].argmax(-1)
