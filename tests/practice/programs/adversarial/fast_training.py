"""Fast adversarial training: the random start of delta is drawn in place on a leaf that already requires gradients."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth

EPS, ALPHA = 8 / 255, 10 / 255


class PreActNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, 2, 1)
        self.bn = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8 * 16, 3)

    def forward(self, x):
        return self.fc(F.relu(self.bn(self.conv(x))).flatten(1))


def clamp(x, lower, upper):
    return torch.max(torch.min(x, upper), lower)


def perturb(model, x, y):
    delta = torch.zeros_like(x, requires_grad=True)  # also
    delta.uniform_(-EPS, EPS)  # cause
    delta.data = clamp(delta.data, 0 - x, 1 - x)
    loss = F.cross_entropy(model(x + delta), y)
    loss.backward()
    grad = delta.grad.detach()
    delta.data = (delta + ALPHA * grad.sign()).clamp(-EPS, EPS).data
    delta.data = clamp(delta.data, 0 - x, 1 - x)
    return delta.detach()


def run():
    torch.manual_seed(0)
    model = PreActNet()
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
    sched = torch.optim.lr_scheduler.CyclicLR(opt, base_lr=0.0, max_lr=0.2, step_size_up=2, step_size_down=2)
    model.train()
    for _ in range(3):
        x, y = torch.rand(4, 3, 8, 8), torch.randint(0, 3, (4,))
        delta = perturb(model, x, y)
        loss = F.cross_entropy(model(x + delta), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()


TRUTH = Truth(
    fault="in-place operation on a leaf that requires grad",
    raises="a leaf Variable that requires grad is being used in an in-place operation",
    names=("delta",),
    repair=("delta.data.uniform_(-EPS, EPS)",),
)
