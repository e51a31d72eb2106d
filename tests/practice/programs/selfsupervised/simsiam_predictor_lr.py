"""SimSiam: a stop-gradient on the projections, and a predictor with a learning rate that does not decay."""

import math

import torch
from torch import nn

from tests.practice.truth import Truth


class SimSiam(nn.Module):
    def __init__(self, dim=16, pred_dim=8):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(10, dim, bias=False),
            nn.BatchNorm1d(dim),
            nn.ReLU(inplace=True),
            nn.Linear(dim, dim),
            nn.BatchNorm1d(dim, affine=False),
        )
        self.encoder[3].bias.requires_grad = False
        self.predictor = nn.Sequential(
            nn.Linear(dim, pred_dim, bias=False),
            nn.BatchNorm1d(pred_dim),
            nn.ReLU(inplace=True),
            nn.Linear(pred_dim, dim),
        )

    def forward(self, x1, x2):
        z1, z2 = self.encoder(x1), self.encoder(x2)
        p1, p2 = self.predictor(z1), self.predictor(z2)
        return p1, p2, z1.detach(), z2.detach()


def adjust_learning_rate(optimizer, init_lr, epoch, epochs):
    cur_lr = init_lr * 0.5 * (1.0 + math.cos(math.pi * epoch / epochs))
    for param_group in optimizer.param_groups:
        param_group["lr"] = init_lr if param_group.get("fix_lr") else cur_lr


def run():
    torch.manual_seed(0)
    model = SimSiam()
    criterion = nn.CosineSimilarity(dim=1)
    optim_params = [
        {"params": model.encoder.parameters(), "fix_lr": False},
        {"params": model.predictor.parameters(), "fix_lr": True},
    ]
    optimizer = torch.optim.SGD(optim_params, 0.05, momentum=0.9, weight_decay=1e-4)
    losses, collapse = [], []
    for epoch in range(3):
        adjust_learning_rate(optimizer, 0.05, epoch, 3)
        x = torch.randn(8, 10)
        p1, p2, z1, z2 = model(x + 0.2 * torch.randn_like(x), x + 0.2 * torch.randn_like(x))
        loss = -(criterion(p1, z2).mean() + criterion(p2, z1).mean()) * 0.5
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        collapse.append(nn.functional.normalize(z1, dim=1).std(0).mean().item())
    return model, optimizer, losses, collapse


TRUTH = Truth()


def verify(out):
    model, optimizer, losses, collapse = out
    assert all(-1 <= loss <= 1 for loss in losses) and min(collapse) > 0.05
    assert optimizer.param_groups[1]["lr"] > optimizer.param_groups[0]["lr"]
    assert model.encoder[0].weight.grad.abs().sum() > 0 and model.encoder[3].bias.grad is None
