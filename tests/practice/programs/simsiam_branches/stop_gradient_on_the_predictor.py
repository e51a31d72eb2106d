"""SimSiam: the stop-gradient stands on the predictor's output, not on the projection it is compared with."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class ProjectionMLP(nn.Sequential):
    def __init__(self, cin, hidden, cout):
        super().__init__(
            nn.Linear(cin, hidden, bias=False),
            nn.BatchNorm1d(hidden),
            nn.ReLU(inplace=True),
            nn.Linear(hidden, cout, bias=False),
            nn.BatchNorm1d(cout, affine=False),
        )


class PredictionMLP(nn.Sequential):
    def __init__(self, dim, hidden):
        super().__init__(
            nn.Linear(dim, hidden, bias=False), nn.BatchNorm1d(hidden), nn.ReLU(inplace=True), nn.Linear(hidden, dim)
        )


def negative_cosine(a, b):
    """The first argument is a target: no gradient goes there."""
    return -F.cosine_similarity(a.detach(), b, dim=1).mean()


class SimSiam(nn.Module):
    def __init__(self, backbone, dim=16, proj=12):
        super().__init__()
        self.backbone = backbone
        self.projector = ProjectionMLP(dim, 24, proj)
        self.predictor = PredictionMLP(proj, 6)

    def forward(self, x1, x2):
        z1, z2 = self.projector(self.backbone(x1)), self.projector(self.backbone(x2))
        p1, p2 = self.predictor(z1), self.predictor(z2)
        return negative_cosine(p1, z2) / 2 + negative_cosine(p2, z1) / 2  # cause


class TwoCrops:
    def __init__(self, strength=0.2):
        self.strength = strength

    def __call__(self, x):
        drop = lambda: (torch.rand_like(x) > self.strength).float()
        return x * drop() + 0.05 * torch.randn_like(x), x * drop() + 0.05 * torch.randn_like(x)


def run():
    torch.manual_seed(0)
    model = SimSiam(nn.Sequential(nn.Linear(10, 16), nn.ReLU()))
    groups = [
        {"params": [*model.backbone.parameters(), *model.projector.parameters()], "fix_lr": False},
        {"params": model.predictor.parameters(), "fix_lr": True},
    ]
    optimizer = torch.optim.SGD(groups, lr=0.05, momentum=0.9)
    crops = TwoCrops()
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    for step in range(3):
        for group in optimizer.param_groups:
            group["lr"] = 0.05 if group["fix_lr"] else 0.05 * (1 - step / 10)
        loss = model(*crops(torch.randn(16, 10)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {n: (p.detach() - start[n]).abs().max().item() for n, p in model.named_parameters()}


def verify(outcome):
    assert all(v == 0.0 for n, v in outcome.items() if n.startswith("predictor"))
    assert outcome["backbone.0.weight"] > 0.0


TRUTH = Truth(
    fault="target and prediction are exchanged in negative_cosine: the predictor is detached and never trained, the target branch is",
    names=("predictor",),
    repair=("return negative_cosine(z2, p1) / 2 + negative_cosine(z1, p2) / 2",),
)
