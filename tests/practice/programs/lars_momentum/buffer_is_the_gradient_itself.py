"""LARS for self-supervised training: the momentum buffer starts as p.grad itself, which zero_grad clears in place."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class LARS(torch.optim.Optimizer):
    def __init__(self, params, lr, momentum=0.9, weight_decay=0.0, trust=0.001):
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay, trust=trust))

    @torch.no_grad()
    def step(self):
        for g in self.param_groups:
            for p in g["params"]:
                if p.grad is None:
                    continue
                d_p = p.grad
                if p.ndim > 1:
                    d_p.add_(p, alpha=g["weight_decay"])
                    w_norm, g_norm = p.norm(), d_p.norm()
                    q = torch.where((w_norm > 0) & (g_norm > 0), g["trust"] * w_norm / g_norm, torch.ones(()))
                    d_p.mul_(q)
                state = self.state[p]
                if "mu" not in state:
                    state["mu"] = d_p  # cause
                else:
                    state["mu"].mul_(g["momentum"]).add_(d_p)
                p.add_(state["mu"], alpha=-g["lr"])


class BarlowTwins(nn.Module):
    def __init__(self, dim=10, width=16, proj=8, lambd=0.005):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(dim, width), nn.ReLU())
        self.projector = nn.Sequential(
            nn.Linear(width, width, bias=False), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, proj)
        )
        self.bn = nn.BatchNorm1d(proj, affine=False)
        self.lambd = lambd

    def forward(self, y1, y2):
        z1, z2 = self.projector(self.backbone(y1)), self.projector(self.backbone(y2))
        c = self.bn(z1).T @ self.bn(z2) / len(y1)
        on_diag = (c.diagonal() - 1).pow(2).sum()
        off_diag = c.pow(2).sum() - c.diagonal().pow(2).sum()
        return on_diag + self.lambd * off_diag


def adjust_learning_rate(step, optimizer, warmup=2, base=0.2):
    for group in optimizer.param_groups:
        group["lr"] = base * min(1.0, (step + 1) / warmup)


def run():
    torch.manual_seed(0)
    model = BarlowTwins()
    optimizer = LARS(model.parameters(), lr=0.0, momentum=0.9, weight_decay=1e-4, trust=0.1)
    kept = []
    for step in range(4):
        adjust_learning_rate(step, optimizer)
        x = torch.randn(16, 10)
        optimizer.zero_grad(set_to_none=False)  # also
        if step:
            kept.append(optimizer.state[model.backbone[0].weight]["mu"].abs().max().item())
        loss = model(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
        loss.backward()
        optimizer.step()
    return kept


def verify(outcome):
    assert outcome == [0.0, 0.0, 0.0]  # each step begins without momentum


TRUTH = Truth(
    fault="the buffer 'mu' is the tensor p.grad: zero_grad(set_to_none=False) empties the momentum and backward writes into it",
    names=("mu",),
    repair=('state["mu"] = d_p.clone()',),
)
