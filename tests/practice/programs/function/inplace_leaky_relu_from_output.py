"""In-place activation (as in InPlace-ABN): the input is overwritten and backward recovers the slope from the output."""

import torch
from torch import nn
import torch.nn.functional as F
from tests.practice.truth import Truth


class InplaceLeaky(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slope):
        x.mul_(torch.where(x > 0, 1.0, slope))
        ctx.mark_dirty(x)
        ctx.slope = slope
        ctx.save_for_backward(x)
        return x

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * torch.where(y > 0, 1.0, ctx.slope), None


class ConvNet(nn.Module):
    def __init__(self, act):
        super().__init__()
        self.act = act
        self.c1 = nn.Conv2d(1, 4, 3, padding=1)
        self.c2 = nn.Conv2d(4, 4, 3, padding=1)
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        x = self.act(self.c1(x), 0.1)
        x = self.act(self.c2(x), 0.1)
        return self.head(x.mean((2, 3)))


def train(act):
    torch.manual_seed(0)
    net = ConvNet(act)
    first = [p.detach().clone() for p in net.parameters()]
    opt = torch.optim.SGD(net.parameters(), lr=0.2)
    grads = []
    for _ in range(3):
        x, y = torch.randn(5, 1, 6, 6), torch.randint(3, (5,))
        opt.zero_grad()
        F.cross_entropy(net(x), y).backward()
        grads.append([p.grad.clone() for p in net.parameters()])
        opt.step()
    return first, grads, [p.detach().clone() for p in net.parameters()]


def run():
    return train(InplaceLeaky.apply)


def verify(outcome):
    first, grads, last = outcome
    _, wanted, plain = train(F.leaky_relu)
    for a, b in zip(grads, wanted):
        assert all(torch.allclose(g, h, atol=1e-6) for g, h in zip(a, b))
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(last, plain))
    assert all(not torch.equal(a, b) for a, b in zip(first, last))


TRUTH = Truth()
