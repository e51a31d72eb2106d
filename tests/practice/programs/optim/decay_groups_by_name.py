"""Weight-decay groups by parameter name: layer-scale's `gamma` is neither a weight nor a bias, and is in no group."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LayerScale(nn.Module):
    def __init__(self, dim, init=1e-2):
        super().__init__()
        self.gamma = nn.Parameter(init * torch.ones(dim))

    def forward(self, x):
        return self.gamma * x


class ConvNeXtBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dwconv = nn.Conv2d(dim, dim, 3, padding=1, groups=dim)
        self.norm = nn.LayerNorm(dim)
        self.pw = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.scale = LayerScale(dim)

    def forward(self, x):
        h = self.norm(self.dwconv(x).permute(0, 2, 3, 1))
        return x + self.scale(self.pw(h)).permute(0, 3, 1, 2)


class ConvNeXt(nn.Module):
    def __init__(self, dim=8, depth=2, classes=4):
        super().__init__()
        self.stem = nn.Conv2d(3, dim, 4, stride=4)
        self.blocks = nn.Sequential(*[ConvNeXtBlock(dim) for _ in range(depth)])
        self.norm, self.fc = nn.LayerNorm(dim), nn.Linear(dim, classes)

    def forward(self, x):
        return self.fc(self.norm(self.blocks(self.stem(x)).mean((2, 3))))


def param_groups(model, weight_decay=0.05):
    decay, no_decay = [], []
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        if name.endswith(".bias") or "norm" in name:
            no_decay.append(p)
        elif name.endswith(".weight"):  # cause
            decay.append(p)
    return [{"params": decay, "weight_decay": weight_decay}, {"params": no_decay, "weight_decay": 0.0}]


def run():
    torch.manual_seed(0)
    model = ConvNeXt()
    opt = torch.optim.AdamW(param_groups(model), lr=4e-3)  # also
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=3)
    for epoch in range(3):
        x, y = torch.rand(4, 3, 16, 16), torch.randint(0, 4, (4,))
        loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")
    return model


def verify(out):
    assert all(torch.equal(b.scale.gamma, torch.full((8,), 1e-2)) for b in out.blocks)


TRUTH = Truth(
    fault="some parameters are in no group",
    names=("gamma",),
    repair=("else:",),
)
