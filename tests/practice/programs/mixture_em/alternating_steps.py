"""Copula mixture: responsibilities under no_grad, marginals and components released in turn, the others' gradients dropped. Healthy."""

import math

import torch
from torch import nn

from tests.practice.truth import Truth


class GaussianMixture(nn.Module):
    """Two components with diagonal spread, after a learnt monotone marginal transform."""

    def __init__(self, dim=2, parts=2):
        super().__init__()
        self.log_slope = nn.Parameter(torch.zeros(dim))
        self.shift = nn.Parameter(torch.zeros(dim))
        self.mean = nn.Parameter(torch.tensor([[-0.5, -0.5], [0.5, 0.5]]))
        self.log_std = nn.Parameter(torch.zeros(parts, dim))
        self.register_buffer("share", torch.full((parts,), 1 / parts))

    def margin(self, x):
        return torch.asinh(x * self.log_slope.exp() + self.shift)

    def log_joint(self, x):
        u = x * self.log_slope.exp() + self.shift
        jacobian = (self.log_slope - 0.5 * torch.log1p(u.square())).sum(-1)
        z = (self.margin(x)[:, None] - self.mean) / self.log_std.exp()
        density = (-0.5 * z.square() - self.log_std - 0.5 * math.log(2 * math.pi)).sum(-1)
        return density + self.share.log() + jacobian[:, None]

    @torch.no_grad()
    def expect(self, x):
        r = self.log_joint(x).softmax(1)
        self.share.copy_(r.mean(0))
        return r

    def groups(self):
        return {"marginals": [self.log_slope, self.shift], "components": [self.mean, self.log_std]}


def em(model, x, rounds):
    optimizers = {k: torch.optim.Adam(v, lr=3e-2) for k, v in model.groups().items()}
    moved, curve = [], []
    for _ in range(rounds):
        for name, optimizer in optimizers.items():
            for other, params in model.groups().items():
                for p in params:
                    p.requires_grad_(other == name)
                    p.grad = None
            before = {k: [p.detach().clone() for p in v] for k, v in model.groups().items()}
            responsibility = model.expect(x)
            loss = -(responsibility * model.log_joint(x)).sum(1).mean()
            loss.backward()
            optimizer.step()
            moved.append(
                {k: any(not torch.equal(a, b) for a, b in zip(before[k], v)) for k, v in model.groups().items()}
                | {"turn": name}
            )
        with torch.no_grad():
            curve.append(-torch.logsumexp(model.log_joint(x), 1).mean().item())
    return moved, curve


def losses_of_two_lines(n):
    side = (torch.rand(n, 1) < 0.4).float()
    return torch.sinh(torch.randn(n, 2) * 0.4 + 2 * side - 1)


def run():
    torch.manual_seed(0)
    model = GaussianMixture()
    return em(model, losses_of_two_lines(80), 3)


def verify(outcome):
    moved, curve = outcome
    assert all(m[k] == (k == m["turn"]) for m in moved for k in ("marginals", "components"))
    assert curve[-1] < curve[0]


TRUTH = Truth()
