"""MAML with an ordinary inner optimizer on a copy: the query loss's gradients end in the copy, the meta model stays."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from tests.practice.truth import Truth


class FewShotNet(nn.Module):
    def __init__(self, width=6, hidden=20, ways=3):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, hidden), nn.Linear(hidden, ways)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


class Episode:
    def __init__(self, ways=3, shots=5, width=6):
        centres = torch.randn(ways, width)
        y = torch.arange(ways).repeat(2 * shots)
        x = centres[y] + 0.5 * torch.randn(len(y), width)
        half = ways * shots
        self.support, self.query = (x[:half], y[:half]), (x[half:], y[half:])


class Learner:
    """A model with its own weights, adapted to one episode."""

    def __init__(self, model, params=None):
        self.model, self.params = model, params

    def __call__(self, x):
        return self.model(x) if self.params is None else functional_call(self.model, self.params, (x,))


def adapt_copy(model, support, lr, steps):
    learner = copy.deepcopy(model)
    inner = torch.optim.SGD(learner.parameters(), lr=lr)
    for _ in range(steps):
        loss = F.cross_entropy(learner(support[0]), support[1])
        inner.zero_grad()
        loss.backward()
        inner.step()
    inner.zero_grad()
    return Learner(learner)


def adapt_functional(model, support, lr, steps):
    params = dict(model.named_parameters())
    for _ in range(steps):
        loss = F.cross_entropy(functional_call(model, params, (support[0],)), support[1])
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
        params = {n: p - lr * g for (n, p), g in zip(params.items(), grads)}
    return Learner(model, params)


class MetaTrainer:
    def __init__(self, model, meta_lr=1e-2, inner_lr=0.1, inner_steps=2, tasks=3):
        self.model, self.inner_lr, self.inner_steps, self.tasks = model, inner_lr, inner_steps, tasks
        self.optimizer = torch.optim.Adam(model.parameters(), lr=meta_lr)

    def step(self):
        self.optimizer.zero_grad()
        total = torch.zeros(())
        for _ in range(self.tasks):
            episode = Episode()
            learner = adapt_copy(self.model, episode.support, self.inner_lr, self.inner_steps)  # cause
            total = total + F.cross_entropy(learner(episode.query[0]), episode.query[1]) / self.tasks
        total.backward()
        self.optimizer.step()
        return total.item()


def run():
    torch.manual_seed(0)
    model = FewShotNet()
    trainer = MetaTrainer(model)
    before = copy.deepcopy(model.state_dict())
    losses = [trainer.step() for _ in range(3)]
    return losses, before, model


def verify(outcome):
    losses, before, model = outcome
    assert all(math.isfinite(x) for x in losses)
    assert all(p.grad is None for p in model.parameters())
    assert all(torch.equal(before[n], p) for n, p in model.named_parameters())


TRUTH = Truth(
    fault="the adapted copy has no graph back to the meta parameters: the outer optimizer steps without gradients",
    names=("fc1", "fc2", "deepcopy"),
    repair=("learner = adapt_functional(self.model, episode.support, self.inner_lr, self.inner_steps)",),
)
