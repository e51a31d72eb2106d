"""A causal language model with a learned distance bias, compiled: the mask is built the wrong way round."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Block(nn.Module):
    def __init__(self, width=32, heads=2):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.slope = nn.Parameter(torch.full((heads, 1, 1), 0.1))

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        place = torch.arange(x.size(1))
        distance = place.unsqueeze(0) - place.unsqueeze(1)
        hidden = distance < 0  # cause
        bias = (-self.slope * distance.abs()).masked_fill(hidden, float("-inf"))  # also
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias.unsqueeze(0))
        return x + self.proj(y.transpose(1, 2).flatten(2))


class Decoder(nn.Module):
    def __init__(self, vocab=11, width=32):
        super().__init__()
        self.embed, self.block, self.head = nn.Embedding(vocab, width), Block(width), nn.Linear(width, vocab)

    def forward(self, x):
        return self.head(self.block(x))


def run():
    torch.manual_seed(0)
    model = Decoder()
    forward = torch.compile(model, backend=BACKEND)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(2):
        ids = torch.randint(11, (4, 13))
        logits = forward(model.embed(ids[:, :-1]))
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    slope = model.block.slope.grad.clone()
    x = model.embed(ids[:, :-1]).detach().requires_grad_()
    (grad,) = torch.autograd.grad(forward(x)[:, 5].square().sum(), x)
    return grad.abs().sum((0, 2)), slope


def verify(outcome):
    reach, slope = outcome
    assert reach[6:].min() > 1e-6 and reach[:5].max() == 0 and slope.abs().max() > 0


TRUTH = Truth(
    fault="a token attends to itself and to what comes after it: the loss sees its answers",
    names=("hidden", "distance"),
    values=True,
    repair=("hidden = distance > 0",),
)
