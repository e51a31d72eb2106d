"""SAM: the gradients of the first pass are not cleared before the second, so the step uses their sum."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base = base(self.param_groups, **kwargs)
        self.param_groups = self.base.param_groups

    @torch.no_grad()
    def first_step(self):
        norm = torch.stack([p.grad.norm() for g in self.param_groups for p in g["params"]]).norm()
        for group in self.param_groups:
            scale = group["rho"] / (norm + 1e-12)
            for p in group["params"]:
                self.state[p]["e_w"] = e = p.grad * scale
                p.add_(e)

    @torch.no_grad()
    def second_step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(self.state[p]["e_w"])
        self.base.step()

    def step(self, closure=None):
        raise NotImplementedError("use first_step() and second_step()")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.gn = nn.GroupNorm(2, 4)
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return self.fc(F.relu(self.gn(self.conv(x))).mean((2, 3)))


def run():
    torch.manual_seed(0)
    model = Net()
    opt = SAM(model.parameters(), torch.optim.SGD, rho=0.05, lr=0.1, momentum=0.9)
    log = []
    for step in range(3):
        x, y = torch.randn(8, 1, 6, 6), torch.randint(0, 3, (8,))
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        first = model.fc.bias.grad.clone()
        opt.first_step()  # also
        F.cross_entropy(model(x), y).backward()  # cause
        log.append((model.fc.bias.grad.norm() / first.norm()).item())
        opt.second_step()
        print(f"step {step} loss {loss.item():.4f} ratio of norms {log[-1]:.3f}")
    return log


def verify(out):
    assert all(1.8 < ratio < 2.3 for ratio in out)


TRUTH = Truth(
    fault="two passes' gradients add up",
    names=("zero_grad",),
    repair=("opt.zero_grad()\nF.cross_entropy(model(x), y).backward()",),
)
