"""The scale is replaced by a new parameter at the first batch, after the optimizer was made."""

import torch
from torch import nn

from tests.practice.truth import Truth


class ActNorm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(d))
        self.ready = False

    def forward(self, x):
        if not self.ready:
            self.scale = nn.Parameter(1 / x.std(0).detach())  # cause
            self.ready = True
        return x * self.scale, self.scale.abs().log().sum()


def run():
    torch.manual_seed(0)
    flow = nn.Linear(3, 3)
    norm = ActNorm(3)
    opt = torch.optim.Adam([*norm.parameters(), *flow.parameters()], 1e-2)
    seen = []
    for _ in range(3):
        z, log_det = norm(flow(torch.randn(16, 3)))
        loss = z.pow(2).mean() - log_det
        opt.zero_grad()
        loss.backward()
        opt.step()
        seen.append(norm.scale.detach().clone())
    return torch.equal(seen[0], seen[-1])


def verify(out):
    assert out


TRUTH = Truth(
    fault="the optimizer holds the parameter of before",
    names=("scale",),
    repair=("self.scale.data.copy_(1 / x.std(0).detach())",),
)
