"""RevNet: a custom Function keeps only the outputs, frees the activations and rebuilds the inputs in backward."""

import torch
from torch import nn
from tests.practice.truth import Truth


class RevFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, blocks, *params):
        ctx.blocks = blocks
        with torch.no_grad():
            x1, x2 = x.chunk(2, -1)
            for f, g in blocks:
                x1 = x1 + f(x2)
                x2 = x2 + g(x1)
        ctx.output = torch.cat([x1, x2], -1).detach()
        return ctx.output.clone()

    @staticmethod
    def backward(ctx, grad):
        y1, y2 = ctx.output.chunk(2, -1)
        d1, d2 = grad.chunk(2, -1)
        ctx.output = None
        for f, g in reversed(ctx.blocks):
            with torch.enable_grad():
                y1 = y1.detach().requires_grad_()
                gy = g(y1)
            with torch.no_grad():
                y2 = y2 - gy
            gy.backward(d2)  # parameter gradients accumulate here
            d1 = d1 + y1.grad
            with torch.enable_grad():
                y2 = y2.detach().requires_grad_()
                fy = f(y2)
            with torch.no_grad():
                y1 = y1.detach() - fy
            fy.backward(d1)
            d2 = d2 + y2.grad
            y2 = y2.detach()
        return (torch.cat([d1, d2], -1), None) + (None,) * len(list(ctx.blocks.parameters()))


class RevNet(nn.Module):
    def __init__(self, dim, depth, reversible):
        super().__init__()
        self.stem = nn.Linear(5, 2 * dim)
        self.blocks = nn.ModuleList(
            nn.ModuleList([nn.Sequential(nn.Linear(dim, dim), nn.Tanh()) for _ in "fg"]) for _ in range(depth)
        )
        self.head = nn.Linear(2 * dim, 1)
        self.reversible = reversible

    def forward(self, x):
        h = self.stem(x)
        if self.reversible:
            return self.head(RevFunction.apply(h, self.blocks, *self.blocks.parameters()))
        a, b = h.chunk(2, -1)
        for f, g in self.blocks:
            a = a + f(b)
            b = b + g(a)
        return self.head(torch.cat([a, b], -1))


def train(reversible):
    torch.manual_seed(0)
    net = RevNet(4, 3, reversible).double()
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    grads = []
    for _ in range(3):
        x = torch.randn(8, 5, dtype=torch.double)
        opt.zero_grad()
        (net(x).squeeze() - x.sum(1)).pow(2).mean().backward()
        grads.append([p.grad.clone() for p in net.parameters()])
        opt.step()
    return grads, [p.detach().clone() for p in net.parameters()]


def run():
    return train(True)


def verify(outcome):
    grads, last = outcome
    wanted, plain = train(False)
    for a, b in zip(grads, wanted):
        assert all(torch.allclose(x, y, atol=1e-9) and x.abs().sum() > 0 for x, y in zip(a, b))
    assert all(torch.allclose(x, y, atol=1e-9) for x, y in zip(last, plain))


TRUTH = Truth()
