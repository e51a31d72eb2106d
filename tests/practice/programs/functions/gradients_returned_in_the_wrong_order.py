"""A fused scale-and-shift Function returns the gradient of the scale where that of the input belongs."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Affine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gamma, beta):
        ctx.save_for_backward(x, gamma)
        return x * gamma + beta

    @staticmethod
    def backward(ctx, grad):
        x, gamma = ctx.saved_tensors
        return (grad * x).sum(0), grad * gamma, grad.sum(0)  # cause


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 6)
        self.gamma, self.beta = nn.Parameter(torch.ones(6)), nn.Parameter(torch.zeros(6))
        self.out = nn.Linear(6, 1)

    def forward(self, x):
        return self.out(Affine.apply(torch.relu(self.lin(x)), self.gamma, self.beta))


def run():
    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(2):
        loss = net(torch.randn(8, 4)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net


TRUTH = Truth(
    fault="backward returns two gradients in the wrong order",
    raises="Function AffineBackward returned an invalid gradient at index 0",
    names=("Affine",),
    repair=("return grad * gamma, (grad * x).sum(0), grad.sum(0)",),
)
