"""Entropic OT loss: Sinkhorn iterates under no_grad, the gradient is taken at fixed potentials (envelope theorem)."""

import math
import torch
from torch import nn
from tests.practice.truth import Truth

EPS = 0.5


def cost(x, y):
    return (x[:, None] - y[None]).square().sum(-1)


@torch.no_grad()
def potentials(c, iters=300):
    n, m = c.shape
    f, g = c.new_zeros(n), c.new_zeros(m)
    for _ in range(iters):
        f = -EPS * torch.logsumexp((g[None] - c) / EPS - math.log(m), 1)
        g = -EPS * torch.logsumexp((f[:, None] - c) / EPS - math.log(n), 0)
    return f, g


class SinkhornLoss(nn.Module):
    def forward(self, x, y):
        c = cost(x, y)
        f, g = potentials(c.detach())
        plan = torch.exp((f[:, None] + g[None] - c.detach()) / EPS) / c.numel()
        value = f.mean() + g.mean()
        surrogate = (plan * c).sum()
        return surrogate - surrogate.detach() + value  # value of the dual, gradient of the plan


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))

    def forward(self, z):
        return self.net(z)


def run():
    torch.manual_seed(0)
    gen, loss_fn = Generator().double(), SinkhornLoss()
    opt = torch.optim.Adam(gen.parameters(), lr=1e-2)
    log = []
    for _ in range(3):
        z, y = torch.randn(7, 2).double(), torch.randn(9, 2).double() + 1
        state = {k: v.clone() for k, v in gen.state_dict().items()}
        loss = loss_fn(gen(z), y)
        opt.zero_grad()
        loss.backward()
        log.append((state, z, y, loss.item(), [p.grad.clone() for p in gen.parameters()]))
        opt.step()
    return gen, log


def verify(outcome):
    gen, log = outcome
    twin = Generator().double()
    for state, z, y, value, grads in log:  # unrolled backpropagation through every iteration
        twin.load_state_dict(state)
        c = cost(twin(z), y)
        g = c.new_zeros(9)
        for _ in range(300):
            f = -EPS * torch.logsumexp((g[None] - c) / EPS - math.log(9), 1)
            g = -EPS * torch.logsumexp((f[:, None] - c) / EPS - math.log(7), 0)
        dual = f.mean() + g.mean()
        assert abs(dual.item() - value) < 1e-8
        for a, b in zip(grads, torch.autograd.grad(dual, list(twin.parameters()))):
            assert torch.allclose(a, b, atol=1e-6) and a.any()
    assert all(not torch.equal(p, log[0][0][k]) for k, p in gen.named_parameters())


TRUTH = Truth()
