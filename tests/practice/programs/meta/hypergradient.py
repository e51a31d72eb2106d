"""Learned data weights by unrolled differentiation: inner steps on functional weights, outer gradient through them, inner model set by hand: healthy."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from tests.practice.truth import Truth


class Classifier(nn.Module):
    def __init__(self, width=6, hidden=16, classes=2):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, hidden), nn.Linear(hidden, classes)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


class MetaWeightNet(nn.Sequential):
    """From the loss of an example to its weight."""

    def __init__(self, hidden=12):
        super().__init__(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, 1), nn.Sigmoid())


def noisy_data(n, flip):
    x = torch.randn(n, 6)
    y = (x[:, 0] + x[:, 1] > 0).long()
    wrong = torch.rand(n) < flip
    return x, torch.where(wrong, 1 - y, y)


class Bilevel:
    def __init__(self, inner_lr=0.3, inner_steps=2):
        self.model, self.weigher = Classifier(), MetaWeightNet()
        self.log_lr = nn.Parameter(torch.tensor(inner_lr).log())
        self.outer = torch.optim.Adam([*self.weigher.parameters(), self.log_lr], lr=1e-2)
        self.steps = inner_steps
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)

    def weighted(self, params, x, y):
        losses = F.cross_entropy(functional_call(self.model, params, (x,)), y, reduction="none")
        weights = self.weigher(losses.detach().unsqueeze(1)).squeeze(1)
        return (weights * losses).sum() / (weights.sum() + 1e-6)

    def outer_step(self, train, clean):
        params = {n: p.detach().clone().requires_grad_() for n, p in self.model.named_parameters()}
        for _ in range(self.steps):
            loss = self.weighted(params, *train)
            grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
            params = {n: p - self.log_lr.exp() * g for (n, p), g in zip(params.items(), grads)}
        meta_loss = F.cross_entropy(functional_call(self.model, params, (clean[0],)), clean[1])
        self.outer.zero_grad()
        meta_loss.backward()
        self.outer.step()
        return meta_loss.item()

    def inner_step(self, train):
        x, y = train
        losses = F.cross_entropy(self.model(x), y, reduction="none")
        with torch.no_grad():
            weights = self.weigher(losses.unsqueeze(1)).squeeze(1)
            weights /= weights.sum()
        self.optimizer.zero_grad()
        (weights * losses).sum().backward()
        self.optimizer.step()


def run():
    torch.manual_seed(0)
    problem = Bilevel()
    weigher = [p.detach().clone() for p in problem.weigher.parameters()]
    model = [p.detach().clone() for p in problem.model.parameters()]
    rate = problem.log_lr.item()
    untouched = []
    for _ in range(3):
        train, clean = noisy_data(24, flip=0.4), noisy_data(12, flip=0.0)
        before = [p.detach().clone() for p in problem.model.parameters()]
        problem.outer_step(train, clean)
        untouched.append(all(torch.equal(b, p) for b, p in zip(before, problem.model.parameters())))
        problem.inner_step(train)
    changed = [not torch.equal(a, b) for a, b in zip(weigher, problem.weigher.parameters())]
    trained = [not torch.equal(a, b) for a, b in zip(model, problem.model.parameters())]
    return changed, trained, untouched, rate, problem.log_lr.item()


def verify(outcome):
    changed, trained, untouched, before, after = outcome
    assert all(changed) and all(trained) and all(untouched) and before != after


TRUTH = Truth()
