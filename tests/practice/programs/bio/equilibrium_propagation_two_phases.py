"""Equilibrium propagation: states relax by gradients of an energy (parameters cut off), weights learn from the contrast of two settled phases."""

import torch
from torch import nn
from tests.practice.truth import Truth

BETA = 1e-3


class EnergyNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1 = nn.Parameter(0.3 * torch.randn(4, 6))
        self.w2 = nn.Parameter(0.3 * torch.randn(6, 2))
        self.b = nn.Parameter(torch.zeros(6))

    def energy(self, x, h, o):
        return (
            0.5 * h.square().sum(1)
            + 0.5 * o.square().sum(1)
            - ((x @ self.w1 + self.b) * h.tanh()).sum(1)
            - ((h.tanh() @ self.w2) * o).sum(1)
        )

    def relax(self, x, h, o, y=None, beta=0.0, steps=220, lr=0.4):
        for p in self.parameters():
            p.requires_grad_(False)
        for _ in range(steps):
            h, o = h.detach().requires_grad_(), o.detach().requires_grad_()
            total = self.energy(x, h, o).sum()
            if beta:
                total = total + beta * 0.5 * (o - y).square().sum()
            gh, go = torch.autograd.grad(total, (h, o))
            h, o = h - lr * gh, o - lr * go
        for p in self.parameters():
            p.requires_grad_(True)
        return h.detach(), o.detach()


def learn(net, opt, x, y):
    zero = x.new_zeros(len(x), 6), x.new_zeros(len(x), 2)
    free = net.relax(x, *zero)
    plus = net.relax(x, *free, y, BETA)
    minus = net.relax(x, *free, y, -BETA)
    opt.zero_grad()
    ((net.energy(x, *plus) - net.energy(x, *minus)).mean() / (2 * BETA)).backward()
    grads = {n: p.grad.clone() for n, p in net.named_parameters()}
    opt.step()
    return grads


def run():
    torch.manual_seed(0)
    net = EnergyNet().double()
    opt = torch.optim.SGD(net.parameters(), lr=0.2)
    log = []
    for _ in range(2):
        x, y = torch.randn(5, 4, dtype=torch.double), torch.randn(5, 2, dtype=torch.double)
        state = {k: v.clone() for k, v in net.state_dict().items()}
        log.append((x, y, state, learn(net, opt, x, y)))
    return net, log


def verify(outcome):
    net, log = outcome
    for x, y, s, grads in log:
        w1, w2, b = (s[k].clone().requires_grad_() for k in ("w1", "w2", "b"))
        h, o = x.new_zeros(5, 6), x.new_zeros(5, 2)
        for _ in range(220):  # backpropagation through the whole free phase
            dh = h - (1 - h.tanh() ** 2) * (x @ w1 + b + o @ w2.T)
            do = o - h.tanh() @ w2
            h, o = h - 0.4 * dh, o - 0.4 * do
        loss = 0.5 * (o - y).square().sum(1).mean()
        for n, g in zip(("w1", "w2", "b"), torch.autograd.grad(loss, (w1, w2, b))):
            assert torch.allclose(g, grads[n], atol=1e-4) and g.any(), n
    for n, p in net.named_parameters():
        assert p.requires_grad
        assert torch.allclose(p, log[1][2][n] - 0.2 * log[1][3][n]) and not torch.equal(p, log[0][2][n])


TRUTH = Truth()
