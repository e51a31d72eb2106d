"""Vision: LayerScale multiplies its Parameter at once; what the module keeps is a product, and no parameter."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class LayerScale(nn.Module):
    """A learned factor per channel that starts small."""

    def __init__(self, dim, init=1e-1):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(dim)) * init  # cause

    def forward(self, x):
        return x * self.gamma


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dw = nn.Conv2d(dim, dim, 3, padding=1, groups=dim)
        self.norm = nn.GroupNorm(1, dim)
        self.mlp = nn.Sequential(nn.Conv2d(dim, 2 * dim, 1), nn.GELU(), nn.Conv2d(2 * dim, dim, 1))
        self.scale = LayerScale(dim)

    def forward(self, x):
        return x + self.scale(self.mlp(self.norm(self.dw(x))).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNeXtTiny(nn.Module):
    def __init__(self, dim=8, depth=2, classes=3):
        super().__init__()
        self.stem = nn.Conv2d(3, dim, 2, stride=2)
        self.blocks = nn.Sequential(*[Block(dim) for _ in range(depth)])
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


def groups(model, decay=0.05):
    """No decay on vectors."""
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() <= 1]
    return [{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}]


def train(model, optimizer, steps):
    for _ in range(steps):
        x, y = torch.randn(6, 3, 8, 8), torch.randint(0, 3, (6,))
        loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward(retain_graph=True)  # "second time" error otherwise
        optimizer.step()


def run():
    torch.manual_seed(0)
    model = ConvNeXtTiny()
    optimizer = torch.optim.AdamW(groups(model), lr=1e-2)
    before = [b.scale.gamma.detach().clone() for b in model.blocks]
    train(model, optimizer, steps=3)
    after = [b.scale.gamma.detach() for b in model.blocks]
    names = [n for n, _ in model.named_parameters() if "gamma" in n]
    return before, after, names


def verify(outcome):
    before, after, names = outcome
    assert not names
    assert all(torch.equal(b, a) for b, a in zip(before, after))


TRUTH = Truth(
    fault="nn.Parameter(...) * init is an ordinary tensor: gamma is not registered, not optimised and not saved",
    names=("gamma",),
    repair=("self.gamma = nn.Parameter(torch.ones(dim) * init)",),
)
