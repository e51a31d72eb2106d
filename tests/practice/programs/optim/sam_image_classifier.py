"""Sharpness-aware minimisation: the weights are not brought back before the descent step."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class SAM(torch.optim.Optimizer):
    """Two-step optimizer: climb to the worst point of a small ball, then descend from where one was."""

    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        defaults = dict(rho=rho, **kwargs)
        super().__init__(params, defaults)
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def first_step(self):
        norm = self._grad_norm()
        for group in self.param_groups:
            scale = group["rho"] / (norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old_p"] = p.data  # cause
                p.add_(p.grad * scale)
        self.zero_grad()

    @torch.no_grad()
    def second_step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data = self.state[p]["old_p"]
        self.base_optimizer.step()
        self.zero_grad()

    def _grad_norm(self):
        grads = [p.grad.norm() for g in self.param_groups for p in g["params"] if p.grad is not None]
        return torch.stack(grads).norm()


class SmallNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.head = nn.Linear(8, classes)

    def forward(self, x):
        x = F.relu(self.stem(x)).mean(dim=(2, 3))
        return self.head(x)


def synthetic_loader(batches=3, size=16):
    for _ in range(batches):
        y = torch.randint(0, 4, (size,))
        x = torch.randn(size, 3, 8, 8) + y.view(-1, 1, 1, 1) * 0.3
        yield x, y


def run():
    torch.manual_seed(0)
    model = SmallNet()
    optimizer = SAM(model.parameters(), torch.optim.SGD, rho=0.5, lr=1e-3)
    shifts = []
    for x, y in synthetic_loader():
        before = torch.cat([p.detach().clone().flatten() for p in model.parameters()])

        F.cross_entropy(model(x), y).backward()
        optimizer.first_step()
        F.cross_entropy(model(x), y).backward()
        optimizer.second_step()

        after = torch.cat([p.detach().flatten() for p in model.parameters()])
        shifts.append((after - before).norm().item())
    return shifts


def verify(outcome):
    # each step moves the weights by about rho, uphill, instead of by lr * |grad|
    assert all(shift > 0.3 for shift in outcome)


TRUTH = Truth(
    fault="the saved weights are the weights themselves (no clone), so the perturbation is never undone",
    names=("old_p",),
    repair=('self.state[p]["old_p"] = p.data.clone()',),
)
