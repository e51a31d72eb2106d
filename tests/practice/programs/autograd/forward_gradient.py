"""Forward gradient descent: directional derivatives by dual numbers, no backward anywhere, gradients written by hand."""

import torch
import torch.autograd.forward_ad as fwAD
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(3, 6)
        self.l2 = nn.Linear(6, 1)

    def forward(self, x):
        return self.l2(torch.tanh(self.l1(x))).squeeze(-1)


class ForwardGradient:
    """Baydin et al. 2022: (grad . v) v, averaged over several directions."""

    def __init__(self, model, directions):
        self.model, self.directions = model, directions
        self.slopes = []

    def directional(self, x, y, direction):
        with fwAD.dual_level():
            duals = {n: fwAD.make_dual(p.detach(), direction[n]) for n, p in self.model.named_parameters()}
            loss = F.mse_loss(functional_call(self.model, duals, (x,)), y)
            primal, tangent = fwAD.unpack_dual(loss)
        return primal, tangent

    @torch.no_grad()
    def __call__(self, x, y):
        total = {n: torch.zeros_like(p) for n, p in self.model.named_parameters()}
        self.slopes.clear()
        for _ in range(self.directions):
            v = {n: torch.randn_like(p) for n, p in self.model.named_parameters()}
            loss, slope = self.directional(x, y, v)
            self.slopes.append((v, slope))
            for n in total:
                total[n] += slope * v[n] / self.directions
        for n, p in self.model.named_parameters():
            p.grad = total[n]
        return loss.item()


def run():
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.5)
    estimate = ForwardGradient(model, directions=8)
    start = [p.detach().clone() for p in model.parameters()]
    gaps = []
    for _ in range(4):
        x = torch.randn(16, 3)
        y = x.sum(1)
        names = [n for n, _ in model.named_parameters()]
        true = dict(zip(names, torch.autograd.grad(F.mse_loss(model(x), y), list(model.parameters()))))
        estimate(x, y)
        for v, slope in estimate.slopes:
            gaps.append(abs(sum((v[n] * true[n]).sum() for n in names) - slope).item())
        optimizer.step()
    return gaps, [not torch.equal(a, b) for a, b in zip(start, model.parameters())]


def verify(outcome):
    gaps, moved = outcome
    assert max(gaps) < 1e-3
    assert all(moved)


TRUTH = Truth()
