"""A custom activation returns its derivative and forgets to multiply by the gradient that comes in."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Mish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.tanh(nn.functional.softplus(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        t = torch.tanh(nn.functional.softplus(x))
        return t + x * (1 - t * t) * torch.sigmoid(x)  # cause


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(5, 16), nn.Linear(16, 2)

    def forward(self, x):
        return self.two(Mish.apply(self.one(x)))


def run():
    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.SGD(net.parameters(), 0.01)
    x, y = torch.randn(16, 5), torch.randint(2, (16,))
    for _ in range(4):
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    loss = 1e-6 * nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    return net.one.weight.grad.abs().max()


def verify(out):
    assert out > 1e-3


TRUTH = Truth(
    fault="the gradient of the activation does not depend on the loss",
    names=("Mish", "grad_output"),
    repair=("return grad_output * (t + x * (1 - t * t) * torch.sigmoid(x))",),
)
