"""Normalising flow: coupling layers write one half of a cloned tensor in place and permute by index_copy_; ActNorm initialises itself."""

import math
import torch
from torch import nn
from tests.practice.truth import Truth


class ActNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.shift, self.log_scale = nn.Parameter(torch.zeros(dim)), nn.Parameter(torch.zeros(dim))
        self.register_buffer("done", torch.tensor(0, dtype=torch.uint8))

    def forward(self, x):
        if self.training and not self.done:
            with torch.no_grad():
                self.log_scale.copy_(-(x.std(0) + 1e-6).log())
                self.shift.copy_(-x.mean(0))
                self.done.fill_(1)
        return (x + self.shift) * self.log_scale.exp(), self.log_scale.sum().expand(len(x))


class Coupling(nn.Module):
    def __init__(self, dim, order):
        super().__init__()
        self.half = dim // 2
        self.net = nn.Sequential(nn.Linear(self.half, 12), nn.ReLU(), nn.Linear(12, 2 * self.half))
        nn.init.zeros_(self.net[-1].weight)
        nn.init.zeros_(self.net[-1].bias)
        self.register_buffer("order", order)

    def forward(self, x):
        y = x.clone()
        s, t = self.net(x[:, : self.half]).chunk(2, 1)
        s = torch.tanh(s)
        y[:, self.half :] *= s.exp()
        y[:, self.half :] += t
        out = torch.empty_like(y)
        out.index_copy_(1, self.order, y)
        return out, s.sum(1)


class Flow(nn.Module):
    def __init__(self, dim=4):
        super().__init__()
        self.steps = nn.ModuleList(
            m for _ in range(3) for m in (ActNorm(dim), Coupling(dim, torch.tensor([2, 3, 0, 1])))
        )

    def log_prob(self, x):
        total = x.new_zeros(len(x))
        for step in self.steps:
            x, ld = step(x)
            total += ld
        return total - 0.5 * x.square().sum(1) - 0.5 * x.shape[1] * math.log(2 * math.pi)


def run():
    torch.manual_seed(0)
    flow = Flow().double()
    opt = torch.optim.Adam(flow.parameters(), lr=1e-2)
    log = []
    for _ in range(4):
        x = torch.randn(20, 4, dtype=torch.double) * 2 + 1
        loss = -flow.log_prob(x).mean()
        opt.zero_grad()
        loss.backward()
        log.append(
            (
                x,
                {k: v.clone() for k, v in flow.state_dict().items()},
                loss.item(),
                {n: p.grad.clone() for n, p in flow.named_parameters()},
            )
        )
        opt.step()
    return flow, log


def plain(flow, x):
    logdet = 0
    for step in flow.steps:
        if isinstance(step, ActNorm):
            x, logdet = (x + step.shift) * torch.exp(step.log_scale), logdet + step.log_scale.sum()
        else:
            a, b = x[:, :2], x[:, 2:]
            s, t = step.net(a).chunk(2, 1)
            x, logdet = torch.cat([b * s.tanh().exp() + t, a], 1), logdet + s.tanh().sum(1)
    return -(logdet - 0.5 * x.square().sum(1) - 2 * math.log(2 * math.pi)).mean()


def verify(outcome):
    flow, log = outcome
    twin = Flow().double()
    for x, state, loss, grads in log:
        twin.load_state_dict(state)
        value = plain(twin, x)
        assert abs(value.item() - loss) < 1e-9
        for (n, _), g in zip(twin.named_parameters(), torch.autograd.grad(value, list(twin.parameters()))):
            assert torch.allclose(g, grads[n], atol=1e-9), n
    assert all(not torch.equal(p, log[0][1][n]) for n, p in flow.named_parameters())


TRUTH = Truth()
