"""A checkpointed block adds a learned shift into its own input; the second run starts from what the first one left."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.shift = nn.Parameter(torch.randn(dim) * 0.1)
        self.up, self.down = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x):
        x += self.shift  # cause
        return x + self.down(F.gelu(self.up(self.norm(x))))


class GPT(nn.Module):
    def __init__(self, vocab=13, dim=8, depth=3):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        h = self.wte(ids)
        for block in self.blocks:
            h = checkpoint(block, h, use_reentrant=False)  # also
        return self.head(h)


def run():
    torch.manual_seed(0)
    model = GPT()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        ids = torch.randint(13, (4, 7))
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()
    return model


TRUTH = Truth(
    fault="the recomputation changes the input once more",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    repair=("x = x + self.shift",),
)
