"""SAM: two backwards a step, weights climb in place under no_grad, old values come back from optimizer state, BN stats frozen in pass two."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base = base(self.param_groups, **kwargs)
        self.param_groups = self.base.param_groups

    @torch.no_grad()
    def climb(self):
        grads = [p.grad for g in self.param_groups for p in g["params"]]
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads)))
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["old"] = p.detach().clone()
                p.add_(p.grad, alpha=(group["rho"] / (norm + 1e-12)).item())
        self.zero_grad()

    @torch.no_grad()
    def descend(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.copy_(self.state[p].pop("old"))
        self.base.step()
        self.zero_grad()

    def step(self, closure=None):
        raise RuntimeError("use climb() and descend()")


def freeze_running_stats(model, frozen):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm1d):
            if frozen:
                m.backup, m.momentum = m.momentum, 0.0
            else:
                m.momentum = m.backup


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 12, bias=False), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 3))


def data():
    g = torch.Generator().manual_seed(3)
    return [(torch.randn(16, 6, generator=g), torch.randint(3, (16,), generator=g)) for _ in range(3)]


def run():
    model = build()
    opt = SAM(model.parameters(), torch.optim.SGD, rho=0.1, lr=0.1, momentum=0.9)
    for x, y in data():
        F.cross_entropy(model(x), y).backward()
        opt.climb()
        freeze_running_stats(model, True)
        F.cross_entropy(model(x), y).backward()
        freeze_running_stats(model, False)
        opt.descend()
    return model


def verify(model):
    plain = build()
    start = [p.detach().clone() for p in plain.parameters()]
    params, buf = list(plain.parameters()), None
    means = torch.zeros(12)
    for x, y in data():
        means = 0.9 * means + 0.1 * plain[0](x).detach().mean(0)
        kept = [p.detach().clone() for p in params]
        g = torch.autograd.grad(F.cross_entropy(plain(x), y), params)
        norm = torch.cat([a.flatten() for a in g]).norm()
        for p, k, a in zip(params, kept, g):
            p.data = k + 0.1 * a / norm
        g = torch.autograd.grad(F.cross_entropy(plain(x), y), params)
        buf = g if buf is None else [0.9 * b + a for b, a in zip(buf, g)]
        for p, k, b in zip(params, kept, buf):
            p.data = k - 0.1 * b
    assert all(
        torch.allclose(a, b, atol=1e-5) and not torch.equal(a, s) for a, b, s in zip(model.parameters(), params, start)
    )
    assert torch.allclose(model[1].running_mean, means, atol=1e-5)


TRUTH = Truth()
