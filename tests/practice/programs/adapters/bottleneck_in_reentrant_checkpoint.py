"""Full fine-tuning to adapters: the embeddings are frozen now, so a reentrant checkpoint sees no input that requires grad and records nothing."""

import warnings

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth


class Adapter(nn.Module):
    def __init__(self, dim, rank=3):
        super().__init__()
        self.down = nn.Linear(dim, rank)
        self.up = nn.Linear(rank, dim)

    def forward(self, x):
        return x + self.up(F.gelu(self.down(x)))


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.adapter = Adapter(dim)

    def forward(self, x):
        return x + self.adapter(self.mlp(self.norm(x)))


class Encoder(nn.Module):
    def __init__(self, vocab=30, dim=10, classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(2))
        self.classifier = nn.Linear(dim, classes)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=True)  # cause
        return self.classifier(x.mean(dim=1))


def only_adapters(model):
    for name, p in model.named_parameters():
        p.requires_grad = "adapter" in name or name.startswith("classifier")
    return [p for p in model.parameters() if p.requires_grad]


def run():
    torch.manual_seed(0)
    warnings.simplefilter("ignore")
    model = Encoder()
    optimizer = torch.optim.AdamW(only_adapters(model), lr=1e-2)
    for _ in range(3):
        tokens = torch.randint(0, 30, (6, 5))
        optimizer.zero_grad()
        F.cross_entropy(model(tokens), tokens[:, 0] % 3).backward()
        optimizer.step()
    return model.blocks[0].adapter.up.weight, model.classifier.weight


def verify(outcome):
    adapter, classifier = outcome
    assert adapter.grad is None and classifier.grad is not None


TRUTH = Truth(
    fault="the adapters inside the reentrant checkpoints get no gradient; only the classifier trains",
    names=("adapter",),
    repair=("x = checkpoint(block, x, use_reentrant=False)",),
)
