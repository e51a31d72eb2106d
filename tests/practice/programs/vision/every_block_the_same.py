"""Vision: ModuleList([block] * depth) holds one block many times over; the layers cannot become different."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        return self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, d))


class Block(nn.Module):
    def __init__(self, dim, heads=2):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = Attention(dim, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.attention(self.n1(x))
        return x + self.mlp(self.n2(x))


class ViT(nn.Module):
    def __init__(self, dim=16, depth=4, classes=5):
        super().__init__()
        self.patch = nn.Conv2d(1, dim, 4, stride=4)
        self.position = nn.Parameter(torch.randn(1, 4, dim) * 0.02)
        self.blocks = nn.ModuleList([Block(dim)] * depth)  # cause
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, classes)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2) + self.position
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(1))


def layerwise(model, lr=1e-3, decay=0.8):
    """A smaller rate for the lower layers."""
    depth = len(model.blocks)
    seen, groups = set(), []
    for i, block in enumerate(model.blocks):
        params = [p for p in block.parameters() if id(p) not in seen]
        seen.update(id(p) for p in params)
        if params:
            groups.append({"params": params, "lr": lr * decay ** (depth - i)})
    groups.append({"params": [p for p in model.parameters() if id(p) not in seen], "lr": lr})
    return groups


def run():
    torch.manual_seed(0)
    model = ViT()
    optimizer = torch.optim.AdamW(layerwise(model))
    for _ in range(3):
        x, y = torch.randn(6, 1, 8, 8), torch.randint(0, 5, (6,))
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    first, last = model.blocks[0].mlp[0].weight, model.blocks[-1].mlp[0].weight
    return first.detach(), last.detach(), len(optimizer.param_groups)


def verify(outcome):
    first, last, groups = outcome
    assert torch.equal(first, last)
    assert groups == 2


TRUTH = Truth(
    minor=True,
    fault="list multiplication repeats the reference: all blocks are one block with one set of weights",
    names=("blocks",),
    repair=("self.blocks = nn.ModuleList([Block(dim) for _ in range(depth)])",),
)
