"""A flow inverts a quadratic inside an interval; outside it `where` takes the identity, and the root of less than 0."""

import torch
from torch import nn

from tests.practice.truth import Truth


class QuadraticCoupling(nn.Module):
    """x = a y^2 + b y on [0, 1], the identity elsewhere; the inverse is found by the root."""

    def __init__(self, half, bound=1.0):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(half, 16), nn.Tanh(), nn.Linear(16, half))
        self.bound = bound

    def forward(self, x):
        known, x = x.chunk(2, 1)
        a = 0.5 * torch.sigmoid(self.net(known))
        b = 1 - a
        inside = (x >= 0) & (x <= self.bound)
        root = (b * b + 4 * a * x).sqrt()  # cause
        y = torch.where(inside, 2 * x / (b + root), x)  # also
        log_det = torch.where(inside, -root.clamp_min(1e-6).log(), torch.zeros_like(x)).sum(1)
        return torch.cat([known, y], 1), log_det


def run():
    torch.manual_seed(0)
    flows = nn.ModuleList([QuadraticCoupling(2), QuadraticCoupling(2)])
    opt = torch.optim.Adam(flows.parameters(), lr=1e-3)
    base = torch.distributions.Normal(0.0, 1.0, validate_args=False)
    for _ in range(2):
        z = torch.randn(64, 4) * 2
        total = torch.zeros(64)
        for flow in flows:
            z, log_det = flow(z.flip(1))
            total = total + log_det
        loss = -(base.log_prob(z).sum(1) + total).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss, flows[0].net[0].weight


def verify(out):
    loss, weight = out
    assert weight.isnan().any()


TRUTH = Truth(
    fault="the branch that is not taken is NaN, and so is its gradient",
    values=True,
    names=("sqrt",),
    repair=("root = (b * b + 4 * a * x.clamp(0, self.bound)).sqrt()",),
)
