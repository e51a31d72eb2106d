"""The optimizer is made, then the linear layers are wrapped with adapters: nobody trains these."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Adapter(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down, self.up = nn.Linear(4, 2, bias=False), nn.Linear(2, 4, bias=False)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj, self.head = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.proj(x).relu())


def run():
    torch.manual_seed(0)
    model = Model()
    proj = model.proj
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)  # cause
    model.proj = proj if isinstance(proj, Adapter) else Adapter(proj)  # also
    before = model.proj.up.weight.detach().clone()
    for _ in range(2):
        loss = F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return (model.proj.up.weight - before).abs().max().item()


def verify(out):
    assert out == 0.0


TRUTH = Truth(
    fault="the adapters are in no optimizer",
    names=("proj.up.weight",),
    repair=(
        "proj = Adapter(model.proj)\nopt = torch.optim.AdamW([*proj.parameters(), *model.head.parameters()], lr=1e-2)",
    ),
)
