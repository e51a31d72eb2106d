"""A-GEM: the gradient is flattened, projected in place and forgotten: torch.cat made a copy."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class AGEMPlugin:
    def __init__(self, sample_size=16):
        self.memory, self.sample_size = [], sample_size
        self.reference = None
        self.conflicts = 0

    @staticmethod
    def flat_grads(model):
        return torch.cat([p.grad.view(-1) for p in model.parameters() if p.grad is not None])

    @staticmethod
    def write_grads(model, flat):
        start = 0
        for p in model.parameters():
            if p.grad is not None:
                n = p.grad.numel()
                p.grad.copy_(flat[start : start + n].view_as(p.grad))
                start += n

    def before_training_iteration(self, strategy):
        if not self.memory:
            return
        x, y = (torch.cat(t)[: self.sample_size] for t in zip(*self.memory))
        strategy.optimizer.zero_grad()
        F.cross_entropy(strategy.model(x), y).backward()
        self.reference = self.flat_grads(strategy.model).clone()
        strategy.optimizer.zero_grad()

    @torch.no_grad()
    def after_backward(self, strategy):
        if self.reference is None:
            return
        current = self.flat_grads(strategy.model)
        dot = current @ self.reference
        if dot < 0:
            self.conflicts += 1
            current -= dot / (self.reference @ self.reference) * self.reference  # cause

    def after_training_exp(self, data):
        self.memory += data


class Naive:
    def __init__(self, model, plugin):
        self.model, self.plugin = model, plugin
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.dots = []

    def train(self, data, epochs=1):
        for _ in range(epochs):
            for x, y in data:
                self.plugin.before_training_iteration(self)
                self.optimizer.zero_grad()
                F.cross_entropy(self.model(x), y).backward()
                self.plugin.after_backward(self)
                if self.plugin.reference is not None:
                    self.dots.append((self.plugin.flat_grads(self.model) @ self.plugin.reference).item())
                self.optimizer.step()
        self.plugin.after_training_exp(data)


def run():
    torch.manual_seed(0)
    plugin = AGEMPlugin()
    strategy = Naive(nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2)), plugin)
    first = torch.randn(3, 16, 6)
    strategy.train([(x, (x[:, 0] > 0).long()) for x in first], epochs=2)
    second = torch.randn(3, 16, 6)
    strategy.train([(x, (x[:, 0] < 0).long()) for x in second])
    return plugin.conflicts, strategy.dots


def verify(outcome):
    conflicts, dots = outcome
    assert conflicts > 0
    assert min(dots) < -1e-4


TRUTH = Truth(
    fault="the projection changes the flat copy that torch.cat returned; the parameters' gradients stay in conflict with the memory's",
    names=("grad",),
    repair=(
        "current -= dot / (self.reference @ self.reference) * self.reference\nself.write_grads(strategy.model, current)",
    ),
)
