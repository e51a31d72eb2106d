"""Self-supervised: BYOL with accumulation; targets are detached, the target net moves once per update, all right."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def mlp(inp, out, hidden=24):
    return nn.Sequential(nn.Linear(inp, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Linear(hidden, out))


class BYOL(nn.Module):
    def __init__(self, inp=12, dim=8, tau=0.9):
        super().__init__()
        self.online = nn.Sequential(mlp(inp, 16), mlp(16, dim))
        self.predictor = mlp(dim, dim)
        self.tau = tau
        self._target = [copy.deepcopy(self.online)]  # kept out of parameters() on purpose

    @property
    def target(self):
        return self._target[0]

    def forward(self, a, b):
        with torch.no_grad():
            ta, tb = self.target(a), self.target(b)
        pa, pb = self.predictor(self.online(a)), self.predictor(self.online(b))
        return 2 - F.cosine_similarity(pa, tb.detach()).mean() - F.cosine_similarity(pb, ta.detach()).mean()

    @torch.no_grad()
    def move_target(self):
        for t, o in zip(self.target.parameters(), self.online.parameters()):
            t.data.mul_(self.tau).add_(o.data, alpha=1 - self.tau)
        for t, o in zip(self.target.buffers(), self.online.buffers()):
            t.copy_(o)


class LARS(torch.optim.SGD):
    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None and p.dim() > 1:
                    p.grad *= 0.02 * p.norm() / (p.grad.norm() + 1e-9)
        super().step(closure)


def augment(x):
    mask = torch.rand_like(x) < 0.2
    return (x + 0.1 * torch.randn_like(x)).masked_fill_(mask, 0.0)


def run(updates=3, accumulate=2):
    torch.manual_seed(0)
    model = BYOL()
    optimizer = LARS(model.parameters(), lr=1.0, momentum=0.9)
    before = copy.deepcopy(model.state_dict())
    target = copy.deepcopy(model.target.state_dict())
    exact, moves = [], 0
    for _ in range(updates):
        for _ in range(accumulate):
            x = torch.randn(16, 12)
            (model(augment(x), augment(x)) / accumulate).backward()
        optimizer.step()
        optimizer.zero_grad()
        old = model.target[0][0].weight.detach().clone()
        model.move_target()
        moves += 1
        exact.append(torch.allclose(model.target[0][0].weight, 0.9 * old + 0.1 * model.online[0][0].weight, atol=1e-6))
    touched = [p.grad for p in model.target.parameters() if p.grad is not None]
    return exact, touched, before, model.state_dict(), target, model.target.state_dict()


def verify(outcome):
    exact, touched, before, after, target_before, target_after = outcome
    assert all(exact) and not touched
    weights = [k for k in before if k.endswith("0.weight")]
    assert all(not torch.equal(before[k], after[k]) for k in weights)
    assert any(not torch.equal(target_before[k], target_after[k]) for k in target_before)
    assert not any(k.startswith("_target") for k in after)


TRUTH = Truth()
