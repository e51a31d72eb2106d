"""Hypernetwork: the generated weights are copied into the target network, which cuts them from their generator."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from tests.practice.truth import Truth


class Target(nn.Module):
    """The small network whose weights are made for each task."""

    def __init__(self, width=4, hidden=8):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, hidden), nn.Linear(hidden, 1)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x))).squeeze(-1)


class HyperNetwork(nn.Module):
    def __init__(self, target, tasks, dim=6, hidden=24):
        super().__init__()
        self.shapes = {n: p.shape for n, p in target.named_parameters()}
        self.task = nn.Embedding(tasks, dim)
        self.body = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU())
        self.heads = nn.ModuleDict({n.replace(".", "_"): nn.Linear(hidden, s.numel()) for n, s in self.shapes.items()})

    def forward(self, task):
        h = self.body(self.task(task))
        return {n: 0.3 * self.heads[n.replace(".", "_")](h).view(s) for n, s in self.shapes.items()}


def predict_loaded(target, weights, x):
    with torch.no_grad():
        for name, p in target.named_parameters():
            p.copy_(weights[name])
    return target(x)


def predict_functional(target, weights, x):
    return functional_call(target, weights, (x,))


def task_data(task, n=24):
    x = torch.randn(n, 4)
    return x, torch.sin(x[:, int(task)]) + 0.5 * x[:, 3]


class Trainer:
    def __init__(self, tasks=3, lr=1e-2):
        self.target = Target()
        self.hyper = HyperNetwork(self.target, tasks)
        # the regulariser keeps the generated weights small, as in continual hypernetworks
        self.optimizer = torch.optim.SGD(self.hyper.parameters(), lr=lr, momentum=0.9)
        self.tasks = tasks

    def loss(self, task):
        weights = self.hyper(task)
        x, y = task_data(task)
        fit = F.mse_loss(predict_loaded(self.target, weights, x), y)  # cause
        size = sum(w.square().sum() for w in weights.values())
        return fit, 1e-4 * size

    def epoch(self):
        for task in torch.randperm(self.tasks):
            fit, size = self.loss(task)
            self.optimizer.zero_grad()
            (fit + size).backward()
            self.optimizer.step()


def run():
    torch.manual_seed(0)
    trainer = Trainer()
    for _ in range(2):
        trainer.epoch()
    fit, _ = trainer.loss(torch.tensor(0))
    params = list(trainer.hyper.parameters())
    return torch.autograd.grad(fit, params, allow_unused=True)


def verify(grads):
    assert all(g is None for g in grads)


TRUTH = Truth(
    fault="copy_ under no_grad: the loss reaches the target's own parameters and not the hypernetwork",
    names=("hyper", "copy_", "target"),
    repair=("fit = F.mse_loss(predict_functional(self.target, weights, x), y)",),
)
