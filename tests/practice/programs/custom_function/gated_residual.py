"""Residual net with a hand-written activation that saves memory in backward."""

import torch
from torch import nn

from tests.practice.truth import Truth, fails


class HardGate(torch.autograd.Function):
    """Passes values inside (-1, 1), saturates outside."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.abs() >= 1)
        return x.clamp(-1, 1)

    @staticmethod
    def backward(ctx, grad_output):
        (saturated,) = ctx.saved_tensors
        grad_input = grad_output
        grad_input[saturated] = 0.0  # cause
        return grad_input


class GatedBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.lift = nn.Linear(dim, dim)

    def forward(self, x):
        h = self.lift(x)
        return h + HardGate.apply(h)


class Net(nn.Module):
    def __init__(self, dim=8, depth=3):
        super().__init__()
        self.blocks = nn.Sequential(*(GatedBlock(dim) for _ in range(depth)))
        self.readout = nn.Linear(dim, 1)

    def forward(self, x):
        return self.readout(self.blocks(x)).squeeze(-1)


def reference_grads(net, x, y):
    h = x
    for block in net.blocks:
        h = block.lift(h)
        h = h + h.clamp(-1, 1)
    loss = (net.readout(h).squeeze(-1) - y).pow(2).mean()
    return torch.autograd.grad(loss, list(net.parameters()))


def run():
    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=1e-3)
    pairs = []
    for _ in range(3):
        x = 2 * torch.randn(16, 8)
        y = x.sum(-1)
        want = reference_grads(net, x, y)
        loss = (net(x) - y).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        pairs.append(([p.grad.clone() for p in net.parameters()], want))
        opt.step()
    return pairs


TRUTH = Truth(
    fault="backward writes into the incoming gradient, which the skip branch shares",
    names=("grad_output",),
    repair=("grad_input = grad_output.masked_fill(saturated, 0.0)",),
)


def well(out):
    for got, want in out:
        assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(got, want))


verify = fails(well)
