"""Architecture weights that are scaled after they were told to require grad: no leaves, no .grad."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.ops = nn.ModuleList([nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU()), nn.Identity()])
        self.alphas = 1e-3 * torch.randn(3, requires_grad=True)  # cause

    def forward(self, x):
        return sum(w * op(x) for w, op in zip(self.alphas.softmax(-1), self.ops))


def run():
    torch.manual_seed(0)
    net = Cell()
    w_opt = torch.optim.SGD(net.ops.parameters(), 0.1)
    for _ in range(3):
        loss = net(torch.randn(8, 4)).pow(2).mean()
        w_opt.zero_grad()
        loss.backward()
        w_opt.step()
        with torch.no_grad():
            net.alphas -= 0.1 * net.alphas.grad  # also
            net.alphas.grad = None


TRUTH = Truth(
    fault="the weights are the result of a product",
    raises="unsupported operand type",
    names=("alphas",),
    repair=("self.alphas = nn.Parameter(1e-3 * torch.randn(3))",),
)
