"""Barlow Twins as published: the cross-correlation is changed in place through a view of its diagonal; nothing is wrong."""

import torch
from torch import nn, optim

from tests.practice.truth import Truth

ARGS = {"projector": (16, 12), "lambd": 0.0051, "batch_size": 8, "steps": 3, "lr_weights": 0.2, "lr_biases": 0.0048}


def off_diagonal(x):
    n, m = x.shape
    assert n == m
    return x.flatten()[:-1].view(n - 1, n + 1)[:, 1:].flatten()


class BarlowTwins(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        sizes = [8, *ARGS["projector"]]
        layers = []
        for i in range(len(sizes) - 2):
            layers += [
                nn.Linear(sizes[i], sizes[i + 1], bias=False),
                nn.BatchNorm1d(sizes[i + 1]),
                nn.ReLU(inplace=True),
            ]
        layers.append(nn.Linear(sizes[-2], sizes[-1], bias=False))
        self.projector = nn.Sequential(*layers)
        self.bn = nn.BatchNorm1d(sizes[-1], affine=False)

    def forward(self, y1, y2):
        z1, z2 = self.projector(self.backbone(y1)), self.projector(self.backbone(y2))
        c = self.bn(z1).T @ self.bn(z2)
        c.div_(ARGS["batch_size"])
        on_diag = torch.diagonal(c).add_(-1).pow_(2).sum()
        off_diag = off_diagonal(c).pow_(2).sum()
        return on_diag + ARGS["lambd"] * off_diag

    def reference(self, y1, y2):
        z1, z2 = self.projector(self.backbone(y1)), self.projector(self.backbone(y2))
        c = self.bn(z1).T @ self.bn(z2) / ARGS["batch_size"]
        eye = torch.eye(len(c))
        return (((c - eye) ** 2) * (eye + ARGS["lambd"] * (1 - eye))).sum()


class LARS(optim.Optimizer):
    def __init__(self, params, lr, weight_decay=0.0, momentum=0.9, eta=0.001):
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "eta": eta})

    @torch.no_grad()
    def step(self):
        for g in self.param_groups:
            for p in g["params"]:
                dp = p.grad
                if dp is None:
                    continue
                if p.ndim != 1:
                    dp = dp.add(p, alpha=g["weight_decay"])
                    param_norm, update_norm = torch.norm(p), torch.norm(dp)
                    q = torch.where(
                        param_norm > 0.0, torch.where(update_norm > 0, g["eta"] * param_norm / update_norm, 1.0), 1.0
                    )
                    dp = dp.mul(q)
                mu = self.state[p].setdefault("mu", torch.zeros_like(p))
                mu.mul_(g["momentum"]).add_(dp)
                p.add_(mu, alpha=-g["lr"])


def run():
    torch.manual_seed(0)
    model = BarlowTwins()
    weights = [p for p in model.parameters() if p.ndim > 1]
    biases = [p for p in model.parameters() if p.ndim == 1]
    optimizer = LARS(
        [{"params": weights, "lr": ARGS["lr_weights"]}, {"params": biases, "lr": ARGS["lr_biases"]}],
        lr=0,
        weight_decay=1e-6,
    )
    start = [p.detach().clone() for p in model.parameters()]
    right = []
    for _ in range(ARGS["steps"]):
        y1, y2 = torch.randn(2, ARGS["batch_size"], 3, 8, 8)
        wanted = torch.autograd.grad(model.reference(y1, y2), list(model.parameters()))
        optimizer.zero_grad()
        loss = model(y1, y2)
        loss.backward()
        right.append(all(torch.allclose(w, p.grad, atol=1e-4, rtol=1e-3) for w, p in zip(wanted, model.parameters())))
        optimizer.step()
    return right, all(not torch.equal(s, p) for s, p in zip(start, model.parameters()))


def verify(outcome):
    assert outcome == ([True] * 3, True), outcome


TRUTH = Truth()
