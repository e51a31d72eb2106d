"""Gradient surgery: PCGrad collects p.grad by reference, zero_grad(set_to_none=False) and the next backward overwrite them."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TwoTaskDrone(nn.Module):
    """Predicts thrust (regression) and whether the drone will crash."""

    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU())
        self.thrust = nn.Linear(8, 1)
        self.crash = nn.Linear(8, 1)

    def losses(self, x, thrust, crash):
        h = self.shared(x)
        return (
            F.mse_loss(self.thrust(h).squeeze(-1), thrust),
            F.binary_cross_entropy_with_logits(self.crash(h).squeeze(-1), crash),
        )


class PCGrad:
    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.params = [p for g in optimizer.param_groups for p in g["params"]]
        for p in self.params:
            p.grad = torch.zeros_like(p)
        self.cosines = []

    def collect(self, loss):
        self.optimizer.zero_grad(set_to_none=False)
        loss.backward(retain_graph=True)
        return [p.grad for p in self.params]  # cause

    def step(self, losses):
        a, b = (self.collect(loss) for loss in losses)
        fa, fb = torch.cat([g.flatten() for g in a]), torch.cat([g.flatten() for g in b])
        dot = fa @ fb
        self.cosines.append((dot / (fa.norm() * fb.norm())).item())
        if dot < 0:
            fa, fb = fa - dot / fb.square().sum() * fb, fb - dot / fa.square().sum() * fa
        start = 0
        for p in self.params:
            p.grad = (fa + fb)[start : start + p.numel()].view_as(p).clone()
            start += p.numel()
        self.optimizer.step()


def run():
    torch.manual_seed(0)
    model = TwoTaskDrone()
    surgeon = PCGrad(torch.optim.Adam(model.parameters(), lr=1e-3))
    x = torch.randn(32, 6)
    thrust, crash = x.sum(1), (x[:, 0] > 0).float()
    start = model.thrust.weight.detach().clone()
    for _ in range(3):
        surgeon.step(model.losses(x, thrust, crash))
    return surgeon.cosines, start, model.thrust.weight.detach()


def verify(outcome):
    cosines, start, thrust = outcome
    assert all(abs(c - 1) < 1e-5 for c in cosines)
    assert torch.equal(start, thrust)


TRUTH = Truth(
    fault="both lists hold the same .grad tensors, so the first task's gradient is lost",
    names=("grad", "thrust"),
    repair=("return [p.grad.clone() for p in self.params]",),
)
