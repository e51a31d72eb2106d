"""A home-made Adam: the moments are computed but not written back to the state, so there is no momentum at all."""

import math

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class MyAdam(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), eps=1e-8):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                st = self.state[p]
                if len(st) == 0:
                    st["t"] = 0
                    st["m"] = torch.zeros_like(p)
                    st["v"] = torch.zeros_like(p)
                st["t"] += 1
                m, v = st["m"], st["v"]
                m = b1 * m + (1 - b1) * p.grad  # cause
                v = b2 * v + (1 - b2) * p.grad**2  # cause
                mh = m / (1 - b1 ** st["t"])
                vh = v / (1 - b2 ** st["t"])
                p.sub_(group["lr"] * mh / (vh.sqrt() + group["eps"]))


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 10)
        self.b = nn.Linear(10, 1)

    def forward(self, x):
        return self.b(torch.sin(self.a(x)))


def train(opt_class, n=5):
    torch.manual_seed(0)
    model = Regressor()
    opt = opt_class(model.parameters(), lr=0.01, betas=(0.9, 0.99))
    losses = []
    for _ in range(n):
        x = torch.randn(20, 3)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True).cos())
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses, opt.state[model.a.weight]


def run():
    mine, state = train(MyAdam)
    theirs, _ = train(torch.optim.Adam)
    return mine, theirs, state


def verify(outcome):
    mine, theirs, state = outcome
    assert math.isclose(mine[1], theirs[1], rel_tol=1e-4)  # one step is alike
    assert not math.isclose(mine[-1], theirs[-1], rel_tol=1e-4)
    assert state["t"] == 5 and not state["m"].any()


TRUTH = Truth(
    fault="m and v are rebound and never stored, so the state keeps its zeros and Adam forgets every former gradient",
    names=("state",),
    repair=('m = st["m"] = b1 * m + (1 - b1) * p.grad', 'v = st["v"] = b2 * v + (1 - b2) * p.grad**2'),
)
