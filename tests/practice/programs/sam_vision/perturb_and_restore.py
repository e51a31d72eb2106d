"""Sharpness-aware minimisation with batch norm frozen in the second pass, weights moved and restored in place, gradients kept. Healthy."""
import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LeafNet(nn.Module):
    def __init__(self, diseases=3):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2)
        self.bn = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, diseases)

    def forward(self, x):
        return self.head(F.relu(self.bn(self.conv(x))).mean((2, 3)))


def set_bn_momentum(model, value):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.momentum = value


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **kwargs):
        super().__init__(params, {"rho": rho, **kwargs})
        self.base = base(self.param_groups, **kwargs)
        self.param_groups = self.base.param_groups

    @torch.no_grad()
    def first_step(self):
        params = [p for g in self.param_groups for p in g["params"] if p.grad is not None]
        scale = self.param_groups[0]["rho"] / (torch.stack([p.grad.norm() for p in params]).norm() + 1e-12)
        for p in params:
            self.state[p]["old"] = p.data.clone()
            p.add_(p.grad * scale)
        self.zero_grad()

    @torch.no_grad()
    def second_step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.data.copy_(self.state[p].pop("old"))
        self.base.step()
        self.zero_grad()


def leaves(n):
    y = torch.arange(n) % 3
    x = torch.rand(n, 3, 8, 8)
    x[torch.arange(n), y] += 1
    return x, y


def run():
    torch.manual_seed(0)
    model = LeafNet()
    optimizer = SAM(model.parameters(), torch.optim.SGD, rho=0.05, lr=0.2, momentum=0.9)
    x, y = leaves(24)
    start = [p.detach().clone() for p in model.parameters()]
    losses, means = [], []
    for _ in range(4):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.first_step()
        means.append(model.bn.running_mean.clone())
        set_bn_momentum(model, 0.0)
        F.cross_entropy(model(x), y).backward()
        set_bn_momentum(model, 0.1)
        means[-1] = torch.equal(means[-1], model.bn.running_mean)
        optimizer.second_step()
        losses.append(loss.item())
    return start, list(model.parameters()), means, losses


def verify(outcome):
    start, now, means, losses = outcome
    # the convolution's bias in front of a batch norm has no gradient but rounding noise
    assert all(not torch.equal(a, b) for a, b in zip(start, now) if a.ndim > 1)
    assert all(means)
    assert losses[-1] < losses[0]


TRUTH = Truth()
