"""Depth and segmentation from one trunk, with learned task uncertainties."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth, fails


class SceneNet(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.depth = nn.Conv2d(8, 1, 1)
        self.seg = nn.Conv2d(8, classes, 1)

    def forward(self, x):
        h = self.trunk(x)
        return {"depth": F.softplus(self.depth(h)), "seg": self.seg(h)}


class UncertaintyLoss(nn.Module):
    def __init__(self, tasks):
        super().__init__()
        self.log_vars = nn.ParameterDict({t: nn.Parameter(torch.zeros(())) for t in tasks})

    def forward(self, losses):
        total = 0.0
        for name, loss in losses.items():
            s = self.log_vars[name]
            total = total + torch.exp(-s) * loss + s
        return total


def build(lr=2e-3):
    model = SceneNet()
    criterion = UncertaintyLoss(["depth", "seg"])
    trunk = {id(p) for p in model.trunk.parameters()}
    optimizer = torch.optim.AdamW(
        [
            {"params": model.trunk.parameters(), "lr": lr * 0.1},
            {"params": [p for p in model.parameters() if id(p) not in trunk]},  # cause
        ],
        lr=lr,
    )
    return model, criterion, optimizer


def train_step(model, criterion, optimizer, batch):
    image, depth, seg = batch
    pred = model(image)
    losses = {"depth": F.l1_loss(pred["depth"], depth), "seg": F.cross_entropy(pred["seg"], seg)}
    total = criterion(losses)
    optimizer.zero_grad(set_to_none=True)
    total.backward()
    optimizer.step()
    return {k: v.item() for k, v in losses.items()}


def run():
    torch.manual_seed(0)
    parts = build()
    for _ in range(4):
        batch = torch.rand(2, 3, 8, 8), torch.rand(2, 1, 8, 8), torch.randint(0, 5, (2, 8, 8))
        train_step(*parts, batch)
    return parts[1]


TRUTH = Truth(
    fault="the loss module's parameters were not given to the optimizer",
    names=("log_vars",),
    repair=(
        "{'params': [p for p in model.parameters() if id(p) not in trunk]},\n{'params': criterion.parameters(), 'weight_decay': 0.0},",
    ),
)


def well(out):
    assert all(p.item() != 0 for p in out.parameters())


verify = fails(well)
