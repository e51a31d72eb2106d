"""Meta: SAM climbs, clears, takes the second gradient and climbs down again; everything in place and everything right."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base = base(self.param_groups, **kwargs)
        self.param_groups = self.base.param_groups

    @torch.no_grad()
    def climb(self):
        norm = torch.stack([p.grad.norm() for g in self.param_groups for p in g["params"] if p.grad is not None]).norm()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                e = p.grad * (group["rho"] / (norm + 1e-12))
                p.add_(e)
                self.state[p]["climbed"] = e
        self.zero_grad()

    @torch.no_grad()
    def descend(self):
        for group in self.param_groups:
            for p in group["params"]:
                if "climbed" in self.state[p]:
                    p.sub_(self.state[p].pop("climbed"))
        self.base.step()
        self.zero_grad()

    def step(self, closure=None):
        raise NotImplementedError("call climb() and descend()")


def freeze_statistics(model, frozen):
    """The second pass shall not count for the running averages."""
    for m in model.modules():
        if isinstance(m, nn.BatchNorm1d):
            m.momentum = 0.0 if frozen else 0.1


def make():
    return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))


def run():
    torch.manual_seed(0)
    model = make()
    optimizer = SAM(model.parameters(), torch.optim.SGD, rho=0.1, lr=0.1, momentum=0.0)
    exact, counted = [], []
    before = [p.detach().clone() for p in model.parameters()]
    for _ in range(4):
        x, y = torch.randn(16, 8), torch.randint(0, 3, (16,))
        start = [p.detach().clone() for p in model.parameters()]
        F.cross_entropy(model(x), y).backward()
        optimizer.climb()
        mean = model[1].running_mean.clone()
        freeze_statistics(model, True)
        F.cross_entropy(model(x), y).backward()
        freeze_statistics(model, False)
        counted.append(torch.equal(mean, model[1].running_mean))
        sharp = [p.grad.clone() for p in model.parameters()]
        optimizer.descend()
        exact.append(
            all(torch.allclose(p, s - 0.1 * g, atol=1e-5) for p, s, g in zip(model.parameters(), start, sharp))
        )
    return exact, counted, before, [p.detach() for p in model.parameters()]


def verify(outcome):
    exact, counted, before, after = outcome
    assert all(exact) and all(counted)
    assert all(not torch.equal(b, a) for b, a in zip(before, after) if b.dim() > 1)


TRUTH = Truth()
