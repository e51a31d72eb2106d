"""Architecture search: compiled cells mix their operations at a falling temperature and are recomputed in backward."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="the temperature falls between forward and backward: the recomputed cells are not those that made the loss",
    names=("temperature", "on_before_backward", "checkpoint"),
    values=True,
    repair=("def on_after_backward(self, net):",),
)


class Cell(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.ops = nn.ModuleList([nn.Linear(width, width), nn.Linear(width, width, bias=False), nn.Identity()])
        self.alpha = nn.Parameter(torch.randn(3))
        self.register_buffer("temperature", torch.tensor(2.0))

    def forward(self, x):
        weights = torch.softmax(self.alpha / self.temperature, -1)
        return sum(w * torch.tanh(op(x)) for w, op in zip(weights, self.ops))


class SuperNet(nn.Module):
    def __init__(self, width=10, depth=2):
        super().__init__()
        self.cells = nn.ModuleList(Cell(width) for _ in range(depth))
        self.classify = nn.Linear(width, 3)
        for cell in self.cells:
            cell.compile(backend=BACKEND)

    def forward(self, x, remat=True):
        for cell in self.cells:
            x = checkpoint(cell, x, use_reentrant=False) if remat else cell(x)
        return self.classify(x)


class Callback:
    def on_before_backward(self, net): ...

    def on_after_backward(self, net): ...


class Anneal(Callback):
    def on_before_backward(self, net):  # cause
        for cell in net.cells:
            cell.temperature.mul_(0.5)  # also


def setup():
    torch.manual_seed(0)


def run():
    net, callback = SuperNet(), Anneal()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    alphas = [cell.alpha for cell in net.cells]
    gaps = []
    for _ in range(3):
        x, y = torch.randn(12, 10), torch.randint(3, (12,))
        exact = torch.autograd.grad(F.cross_entropy(net(x, remat=False), y), alphas)
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        callback.on_before_backward(net)
        loss.backward()
        callback.on_after_backward(net)
        gaps.append(max(((a.grad - g).norm() / g.norm()).item() for a, g in zip(alphas, exact)))  # symptom
        optimizer.step()
    return gaps


def verify(outcome):
    assert min(outcome) > 1e-2
