"""Learning without forgetting: the model of the last task is kept under another name, not copied."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LwF:
    def __init__(self, model, temperature=2.0, weight=1.0):
        self.model = model
        self.old = None
        self.temperature, self.weight = temperature, weight
        self.penalties = []

    def end_task(self):
        self.old = self.model  # cause

    def loss(self, x, y):
        logits = self.model(x)
        loss = F.cross_entropy(logits, y)
        if self.old is not None:
            with torch.no_grad():
                target = F.softmax(self.old(x) / self.temperature, 1)
            distilled = F.kl_div(F.log_softmax(logits / self.temperature, 1), target, reduction="batchmean")
            self.penalties.append(distilled.item())
            loss = loss + self.weight * self.temperature**2 * distilled
        return loss


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 6))
    learner = LwF(model)
    for task in range(2):
        opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        x, y = torch.randn(60, 8) + task, torch.randint(3 * task, 3 * task + 3, (60,))
        for batch, target in zip(x.split(20), y.split(20)):
            opt.zero_grad()
            learner.loss(batch, target).backward()
            opt.step()
        learner.end_task()
    return learner.penalties


def verify(out):
    assert max(map(abs, out)) < 1e-5


TRUTH = Truth(
    fault="the student is its own teacher: the penalty is always 0",
    repair=("import copy\n\nself.old = copy.deepcopy(self.model).requires_grad_(False)",),
)
