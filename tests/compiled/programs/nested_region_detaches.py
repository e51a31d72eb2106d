"""Blocks marked as a nested compile region: each block's gate is computed from what is detached, and replaces it."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

BY = "aot_eager" if BACKEND == "eager" else BACKEND  # Torch runs such regions without data only.

RULES = "AG101"
NAMES = ("embed",)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.lin = nn.LayerNorm(8), nn.Linear(8, 8)

    @torch.compiler.nested_compile_region
    def forward(self, x):
        x = x.detach()  # cause
        return x + torch.relu(self.lin(self.norm(x)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.blocks = nn.ModuleList(Block() for _ in range(2))
        self.head = nn.Linear(8, 20)

    def forward(self, ids):
        h = self.embed(ids)
        for block in self.blocks:
            h = block(h)
        return self.head(h)


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = torch.compile(Model(), backend=BY, fullgraph=True)
    optimizer = torch.optim.AdamW(model.parameters())


def run():
    for _ in range(2):
        ids = torch.randint(20, (3, 6))
        loss = nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
