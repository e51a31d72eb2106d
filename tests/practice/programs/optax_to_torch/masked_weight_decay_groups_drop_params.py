"""optax to PyTorch: add_decayed_weights(mask=ndim > 1) became two parameter groups by name, and the norms' gains fell between them."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.scale


class MLPBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = RMSNorm(dim)
        self.wi = nn.Linear(dim, 2 * dim)
        self.wo = nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.wo(F.gelu(self.wi(self.norm(x))))


class Net(nn.Module):
    def __init__(self, dim=8, depth=2):
        super().__init__()
        self.blocks = nn.Sequential(*(MLPBlock(dim) for _ in range(depth)))
        self.head = nn.Linear(dim, 3)

    def forward(self, x):
        return self.head(self.blocks(x))


def decay_mask(model):
    named = list(model.named_parameters())
    decayed = [p for name, p in named if name.endswith("weight")]
    plain = [p for name, p in named if name.endswith("bias")]  # cause
    return [{"params": decayed, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}]


def run():
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.AdamW(decay_mask(model), lr=1e-2)
    for _ in range(3):
        x, y = torch.randn(8, 8), torch.randint(0, 3, (8,))
        loss = F.cross_entropy(model(x), y)
        model.zero_grad()
        loss.backward()
        optimizer.step()
    return model.blocks[0].norm.scale


def verify(scale):
    assert scale.grad is not None and bool((scale == 1).all())


TRUTH = Truth(
    fault="the RMSNorm scales are in no parameter group and are never updated",
    names=("scale",),
    repair=('plain = [p for name, p in named if not name.endswith("weight")]',),
)
