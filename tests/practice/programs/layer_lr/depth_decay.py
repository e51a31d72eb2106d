"""Layer-wise learning rate decay for a twelve-layer encoder."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Encoder(nn.Module):
    def __init__(self, patches=4, dim=8, depth=12, classes=3):
        super().__init__()
        self.patch_embed = nn.Linear(6, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(1, patches, dim))
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim)) for _ in range(depth)
        )
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.patch_embed(x) + self.pos
        for block in self.blocks:
            x = x + block(x)
        return self.head(self.norm(x).mean(1))


def param_groups_lrd(model, base_lr, decay=0.75):
    named = list(model.named_parameters())
    depth = len(model.blocks)
    groups = [
        {
            "params": [p for n, p in named if n.startswith(("patch_embed", "pos"))],
            "lr": base_lr * decay ** (depth + 1),
        }
    ]
    for i in range(depth):
        groups.append(
            {
                "params": [p for n, p in named if n.startswith(f"blocks.{i}")],  # cause
                "lr": base_lr * decay ** (depth - i),
            }
        )
    groups.append({"params": [p for n, p in named if n.startswith(("norm", "head"))], "lr": base_lr})
    return groups


def run():
    torch.manual_seed(0)
    model = Encoder()
    opt = torch.optim.AdamW(param_groups_lrd(model, 1e-3), weight_decay=0.05)  # symptom
    for _ in range(2):
        loss = F.cross_entropy(model(torch.randn(4, 4, 6)), torch.randint(0, 3, (4,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return len(opt.param_groups), sum(len(g["params"]) for g in opt.param_groups), len(list(model.parameters()))


TRUTH = Truth(
    fault="the prefix of block 1 also matches blocks 10 and 11",
    raises="some parameters appear in more than one parameter group",
    names=("blocks.1",),
    repair=('"params": [p for n, p in named if n.startswith(f"blocks.{i}.")],',),
)


def well(out):
    groups, held, total = out
    assert groups == 14 and held == total
