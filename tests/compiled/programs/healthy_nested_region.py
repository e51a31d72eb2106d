"""Blocks of a nested compile region, with a function that is allowed in the graph; both keep the gradient."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

BY = "aot_eager" if BACKEND == "eager" else BACKEND  # Torch runs such regions without data only.

HEALTHY = True


def scaled(x):
    return x / (x.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt()


torch.compiler.allow_in_graph(scaled)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(8, 8)

    @torch.compiler.nested_compile_region
    def forward(self, x):
        return x + torch.relu(self.lin(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.head = nn.Linear(8, 20, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        h = self.embed(ids)
        for block in self.blocks:
            h = block(h)
        return self.head(scaled(h))


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
