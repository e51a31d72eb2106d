"""MAML in full: the inner steps keep their graph, and the outer loss goes through them to the first weights."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class SineNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.vars = nn.ParameterList()
        for o, i in ((16, 1), (16, 16), (1, 16)):
            w = nn.Parameter(torch.empty(o, i))
            nn.init.kaiming_normal_(w)
            self.vars.append(w)
            self.vars.append(nn.Parameter(torch.zeros(o)))

    def forward(self, x, vars=None):
        vars = self.vars if vars is None else vars
        x = F.relu(F.linear(x, vars[0], vars[1]))
        x = F.relu(F.linear(x, vars[2], vars[3]))
        return F.linear(x, vars[4], vars[5])


def task():
    amp, phase = torch.rand(1) * 4.9 + 0.1, torch.rand(1) * 3.14
    x = torch.rand(20, 1) * 10 - 5
    y = amp * torch.sin(x - phase)
    return x[:10], y[:10], x[10:], y[10:]


def run():
    torch.manual_seed(0)
    net = SineNet()
    meta_optim = torch.optim.Adam(net.parameters(), lr=1e-3)
    history = []
    for _ in range(2):
        losses_q = [0 for _ in range(3)]
        for _ in range(3):
            xs, ys, xq, yq = task()
            grad = torch.autograd.grad(F.mse_loss(net(xs), ys), net.parameters(), create_graph=True)
            fast = [p - 0.01 * g for g, p in zip(grad, net.parameters())]
            with torch.no_grad():
                losses_q[0] += F.mse_loss(net(xq), yq)
                losses_q[1] += F.mse_loss(net(xq, fast), yq)
            grad = torch.autograd.grad(F.mse_loss(net(xs, fast), ys), fast, create_graph=True)
            fast = [p - 0.01 * g for g, p in zip(grad, fast)]
            losses_q[2] += F.mse_loss(net(xq, fast), yq)
        loss_q = losses_q[-1] / 3
        meta_optim.zero_grad()
        loss_q.backward()
        meta_optim.step()
        history.append([float(loss) / 3 for loss in losses_q])
    return net, history


TRUTH = Truth()


def verify(out):
    net, history = out
    assert all(p.grad.abs().sum() > 0 for p in net.parameters())
    assert all(x < 1e3 for row in history for x in row)
