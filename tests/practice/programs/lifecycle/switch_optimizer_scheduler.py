"""Adam first, SGD later: the schedule goes on turning the learning rate of the optimizer that was laid aside."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class WideNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv1d(1, 6, 5, padding=2)
        self.head = nn.Linear(6, 2)

    def forward(self, x):
        return self.head(F.leaky_relu(self.stem(x[:, None])).mean(-1))


class TwoPhase:
    """SWATS-like: a quick start with Adam, SGD for the end."""

    def __init__(self, model, switch_at):
        self.model, self.switch_at, self.step_count = model, switch_at, 0
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        self.scheduler = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, gamma=0.5)

    def maybe_switch(self):
        if self.step_count == self.switch_at:
            lr = self.optimizer.param_groups[0]["lr"]
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=10 * lr, momentum=0.9)  # cause

    def step(self, x, y):
        self.maybe_switch()
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        self.step_count += 1
        return self.optimizer.param_groups[0]["lr"]


def waves(n):
    for _ in range(n):
        y = torch.randint(0, 2, (16,))
        t = torch.linspace(0, 6, 24)
        yield torch.sin((1.0 + y[:, None]) * t) + 0.1 * torch.randn(16, 24), y


def run():
    torch.manual_seed(0)
    trainer = TwoPhase(WideNet(), switch_at=2)
    return [trainer.step(x, y) for x, y in waves(5)]


def verify(outcome):
    assert outcome[0] > outcome[1]
    # constant from the switch on
    assert outcome[2] == outcome[3] == outcome[4]


TRUTH = Truth(
    fault="the scheduler still holds the Adam optimizer, SGD's learning rate never decays",
    names=("scheduler",),
    repair=(
        "self.optimizer = torch.optim.SGD(self.model.parameters(), lr=10 * lr, momentum=0.9)\nself.scheduler = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, gamma=0.5)",
    ),
)
