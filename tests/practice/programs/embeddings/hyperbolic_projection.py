"""Poincare embeddings: gradients are rescaled by the metric, points go back into the ball, both without a graph."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Poincare(nn.Module):
    def __init__(self, n, dim, eps=1e-5):
        super().__init__()
        self.points = nn.Embedding(n, dim)
        nn.init.uniform_(self.points.weight, -1e-3, 1e-3)
        self.eps = eps

    def distance(self, u, v):
        uu, vv, d = u.pow(2).sum(-1), v.pow(2).sum(-1), (u - v).pow(2).sum(-1)
        x = 1 + 2 * d / ((1 - uu) * (1 - vv)).clamp(min=self.eps)
        return torch.acosh(x.clamp(min=1 + 1e-6))

    def forward(self, anchor, others):
        return -self.distance(self.points(anchor)[:, None], self.points(others))


class RiemannianSGD(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                scale = (1 - p.pow(2).sum(-1, keepdim=True)).pow(2) / 4
                p.add_(p.grad * scale, alpha=-group["lr"])
                norm = p.norm(dim=-1, keepdim=True)
                p.copy_(torch.where(norm >= 1 - 1e-5, p / norm.clamp(min=1e-10) * (1 - 1e-5), p))


def run():
    torch.manual_seed(0)
    model = Poincare(15, 2)
    edges = torch.tensor([[i, (i - 1) // 2] for i in range(1, 15)])
    optimizer = RiemannianSGD(model.parameters(), lr=0.3)
    losses, radii = [], []
    for epoch in range(5):
        optimizer.param_groups[0]["lr"] = 0.03 if epoch == 0 else 0.3
        batch = edges[torch.randperm(14)[:8]]
        others = torch.cat([batch[:, 1:], torch.randint(15, (8, 4))], 1)
        others[:, 1:][others[:, 1:] == batch[:, :1]] = 0
        loss = nn.functional.cross_entropy(model(batch[:, 0], others), torch.zeros(8, dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        radii.append(model.points.weight.data.norm(dim=1).max().item())
    return model, losses, radii


TRUTH = Truth()


def verify(out):
    model, losses, radii = out
    assert all(r < 1 for r in radii) and radii[-1] > radii[0]
    assert torch.isfinite(model.points.weight.grad).all() and all(0 < loss < 100 for loss in losses)
