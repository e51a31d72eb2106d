"""SAM: a climb along the gradient, a second pass there, and a step from the old point, kept in the state."""

import torch
from torch import nn

from tests.practice.truth import Truth


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        norms = [p.grad.norm(p=2) for g in self.param_groups for p in g["params"] if p.grad is not None]
        grad_norm = torch.norm(torch.stack(norms), p=2)
        for group in self.param_groups:
            scale = group["rho"] / (grad_norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad * scale.to(p))
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data = self.state[p]["old_p"]
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()


def set_running(model, on):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm1d):
            if on:
                m.momentum = m.backup_momentum
            else:
                m.backup_momentum, m.momentum = m.momentum, 0


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16, bias=False), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
    optimizer = SAM(model.parameters(), torch.optim.SGD, lr=0.1, momentum=0.9)
    smooth = nn.CrossEntropyLoss(label_smoothing=0.1)
    pairs = []
    for _ in range(3):
        x, y = torch.randn(12, 6), torch.randint(3, (12,))
        loss = smooth(model(x), y)
        loss.backward()
        optimizer.first_step(zero_grad=True)
        set_running(model, False)
        second = smooth(model(x), y)
        second.backward()
        set_running(model, True)
        optimizer.second_step(zero_grad=True)
        pairs.append((loss.item(), second.item()))
    return model, pairs


TRUTH = Truth()


def verify(out):
    model, pairs = out
    assert all(0 < a < b < 100 for a, b in pairs)
    assert model[1].momentum == 0.1 and all(p.grad is None for p in model.parameters())
