"""Continued pretraining with frozen token embeddings and recomputation of the blocks."""

import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth, fails


class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc = nn.Linear(dim, 4 * dim)
        self.proj = nn.Linear(4 * dim, dim)

    def forward(self, x):
        prefix = x.cumsum(1) / torch.arange(1, x.size(1) + 1).view(1, -1, 1)
        return x + self.proj(F.gelu(self.fc(self.norm(prefix))))


class Backbone(nn.Module):
    def __init__(self, vocab=40, dim=16, depth=3, checkpointing=False):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList([Layer(dim) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab)
        self.checkpointing = checkpointing

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            if self.checkpointing and self.training:
                x = checkpoint(layer, x, use_reentrant=True)  # cause
            else:
                x = layer(x)
        return self.head(self.norm(x))


def freeze_embeddings(model):
    for p in model.embed.parameters():
        p.requires_grad_(False)  # also


def run():
    torch.manual_seed(5)
    model = Backbone(checkpointing=True)
    freeze_embeddings(model)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    model.train()
    for _ in range(4):
        ids = torch.randint(0, 40, (4, 11))
        loss = F.cross_entropy(model(ids[:, :-1]).transpose(1, 2), ids[:, 1:])
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model, before


TRUTH = Truth(
    fault="reentrant checkpoint over inputs that need no gradient: the layers get none",
    names=("layers.0.fc.weight",),
    repair=("x = checkpoint(layer, x, use_reentrant=False)",),
)


def well(out):
    model, before = out
    for n, p in model.named_parameters():
        if p.requires_grad:
            assert not torch.equal(p, before[n]), n


verify = fails(well)
