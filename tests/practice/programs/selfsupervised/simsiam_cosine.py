"""SimSiam: the arguments of D are swapped, so the stop-gradient lies on the predictor's side."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class SimSiam(nn.Module):
    def __init__(self, dim=16, pred_dim=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(48, 32), nn.ReLU(), nn.Linear(32, dim))
        self.projector = nn.Sequential(
            nn.Linear(dim, dim, bias=False), nn.BatchNorm1d(dim), nn.ReLU(), nn.Linear(dim, dim)
        )
        self.predictor = nn.Sequential(nn.Linear(dim, pred_dim), nn.ReLU(), nn.Linear(pred_dim, dim))

    def forward(self, x1, x2):
        z1 = self.projector(self.encoder(x1))
        z2 = self.projector(self.encoder(x2))
        return self.predictor(z1), self.predictor(z2), z1, z2


def D(p, z):
    z = z.detach()
    return -F.cosine_similarity(p, z, dim=-1).mean()


def collapse_level(z):
    z = F.normalize(z.detach(), dim=1)
    return (z.std(0).mean() * z.shape[1] ** 0.5).item()


def run():
    torch.manual_seed(0)
    model = SimSiam()
    opt = torch.optim.SGD(
        [
            {"params": [*model.encoder.parameters(), *model.projector.parameters()], "fix_lr": False},
            {"params": model.predictor.parameters(), "fix_lr": True},
        ],
        lr=0.05,
        momentum=0.9,
    )
    for epoch in range(2):
        for group in opt.param_groups:
            group["lr"] = 0.05 if group["fix_lr"] else 0.05 * (1 - epoch / 4)
        x = torch.randn(8, 3, 4, 4)
        p1, p2, z1, z2 = model(x + 0.1 * torch.randn_like(x), x.flip(-1))
        loss = 0.5 * (D(z1, p2) + D(z2, p1))  # cause
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"loss {loss.item():.4f} std {collapse_level(z1):.3f}")
    return model


def verify(model):
    assert all(p.grad is None for p in model.predictor.parameters())


TRUTH = Truth(
    fault="the predictor is behind the stop-gradient",
    names=("predictor",),
    repair=("loss = 0.5 * (D(p1, z2) + D(p2, z1))",),
)
