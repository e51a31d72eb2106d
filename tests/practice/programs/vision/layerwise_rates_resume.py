"""Vision: a wrapping optimizer keeps the param_groups of before load_state_dict, so the schedule turns a dead knob."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import StepLR

from tests.practice.truth import Truth


class SmallConv(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.classifier = nn.Linear(32, classes)

    def forward(self, x):
        return self.classifier(self.features(x))


class TrustRatio(torch.optim.Optimizer):
    """Scales each gradient by |w| / |g| before the wrapped optimizer steps."""

    def __init__(self, inner, trust=0.02):
        self.inner = inner
        self.trust = trust
        self.param_groups = inner.param_groups
        self.defaults = inner.defaults
        self.state = inner.state
        self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks = {}, {}

    def zero_grad(self, set_to_none=True):
        self.inner.zero_grad(set_to_none)

    def state_dict(self):
        return self.inner.state_dict()

    def load_state_dict(self, state):
        self.inner.load_state_dict(state)  # cause

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.inner.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    ratio = self.trust * p.norm() / (p.grad.norm() + 1e-8)
                    p.grad.mul_(ratio.clamp(max=1.0))
        self.inner.step()


def build(lr=0.1):
    model = SmallConv()
    optimizer = TrustRatio(torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9))
    return model, optimizer


def train(model, optimizer, scheduler, data):
    for x, y in data:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if scheduler is not None:
            scheduler.step()


def batches(n):
    return [(torch.randn(6, 3, 8, 8), torch.randint(0, 4, (6,))) for _ in range(n)]


def run():
    torch.manual_seed(0)
    model, optimizer = build()
    train(model, optimizer, None, batches(2))
    checkpoint = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}

    # a new job picks the training up and cools it down
    model, optimizer = build()
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scheduler = StepLR(optimizer, step_size=1, gamma=0.1)
    train(model, optimizer, scheduler, batches(3))
    return scheduler.get_last_lr()[0], optimizer.inner.param_groups[0]["lr"]


def verify(outcome):
    said, used = outcome
    assert said < 2e-4
    assert used == 0.1


TRUTH = Truth(
    fault="load_state_dict gives the inner optimizer new param_groups; the wrapper and the scheduler keep the old ones",
    names=("param_groups",),
    repair=(
        "self.inner.load_state_dict(state)\nself.param_groups = self.inner.param_groups\nself.state = self.inner.state",
    ),
)
