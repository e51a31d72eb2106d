"""Warm start: the checkpoint's names carry a wrapper's prefix and strict=False makes nothing of it."""

import io

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Backbone(nn.Module):
    def __init__(self, dim=6, width=10):
        super().__init__()
        self.inp = nn.Linear(dim, width)
        self.mid = nn.Linear(width, width)

    def forward(self, x):
        return F.relu(self.mid(F.relu(self.inp(x))))


class Pretrainer(nn.Module):
    """Wraps a backbone as DataParallel would."""

    def __init__(self, module):
        super().__init__()
        self.module = module
        self.reconstruct = nn.Linear(10, 6)

    def forward(self, x):
        return self.reconstruct(self.module(x))


class Finetune(nn.Module):
    def __init__(self, backbone):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(10, 2)
        self.backbone.requires_grad_(False)

    def forward(self, x):
        return self.head(self.backbone(x))


def pretrain(steps=3):
    model = Pretrainer(Backbone())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        x = torch.randn(32, 6)
        optimizer.zero_grad()
        F.mse_loss(model(x * (torch.rand_like(x) > 0.3)), x).backward()
        optimizer.step()
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    buffer.seek(0)
    return buffer


def warm_start(checkpoint):
    backbone = Backbone()
    state = torch.load(checkpoint)
    backbone.load_state_dict(state, strict=False)  # cause
    return Finetune(backbone), state


def run():
    torch.manual_seed(0)
    model, state = warm_start(pretrain())
    optimizer = torch.optim.SGD(model.head.parameters(), lr=0.1)
    for _ in range(2):
        x = torch.randn(16, 6)
        optimizer.zero_grad()
        F.cross_entropy(model(x), (x[:, 0] > 0).long()).backward()
        optimizer.step()
    return [torch.equal(v, state["module." + k]) for k, v in model.backbone.state_dict().items()]


def verify(outcome):
    assert not any(outcome)


TRUTH = Truth(
    fault="no key of the checkpoint matches ('module.'), strict=False hides it; the frozen backbone is random",
    names=("load_state_dict",),
    repair=(
        "inner = {k.removeprefix('module.'): v for k, v in state.items() if k.startswith('module.')}\nbackbone.load_state_dict(inner)",
    ),
)
