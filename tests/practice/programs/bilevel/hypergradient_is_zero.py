"""Bilevel data weighting: the inner step's gradient is taken without create_graph; the example weights get no hypergradient."""

import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F

from tests.practice.truth import Truth


class PriceNet(nn.Module):
    def __init__(self, features=6):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, 12), nn.Tanh(), nn.Linear(12, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


class ReweightingLearner:
    """Weights of noisy examples are chosen such that one step helps on the clean set."""

    def __init__(self, n, inner_lr=0.2):
        self.model = PriceNet()
        self.logit = torch.zeros(n, requires_grad=True)
        self.log_inner_lr = torch.tensor(inner_lr).log().requires_grad_(True)
        self.opt_model = torch.optim.SGD(self.model.parameters(), lr=0.05)
        self.opt_meta = torch.optim.Adam([self.logit, self.log_inner_lr], lr=0.1)

    def weighted_loss(self, params, x, y):
        error = F.huber_loss(functional_call(self.model, params, (x,)), y, reduction="none")
        return (self.logit.sigmoid() * error).mean()

    def look_ahead(self, x, y):
        params = dict(self.model.named_parameters())
        inner = self.weighted_loss(params, x, y)
        grads = torch.autograd.grad(inner, list(params.values()))  # cause
        return {k: p - self.log_inner_lr.exp() * g for (k, p), g in zip(params.items(), grads)}

    def step(self, noisy, clean):
        ahead = self.look_ahead(*noisy)
        outer = F.huber_loss(functional_call(self.model, ahead, (clean[0],)), clean[1])
        self.opt_meta.zero_grad()
        outer.backward()
        self.opt_meta.step()
        self.opt_model.zero_grad()
        self.weighted_loss(dict(self.model.named_parameters()), *noisy).backward()
        self.logit.grad = None
        self.opt_model.step()


def houses(n, wrong):
    x = torch.randn(n, 6)
    y = x[:, 0] + 0.5 * x[:, 1]
    y[:wrong] = 5 * torch.randn(wrong)
    return x, y


def run():
    torch.manual_seed(0)
    learner = ReweightingLearner(24)
    noisy, clean = houses(24, 8), houses(12, 0)
    for _ in range(3):
        learner.step(noisy, clean)
    return learner.logit.detach(), learner.log_inner_lr.item()


def verify(outcome):
    logit, _ = outcome
    assert logit.abs().max() == 0


TRUTH = Truth(
    fault="without create_graph the inner gradient is a constant of the outer loss; the weights stay at zero",
    names=("logit", "create_graph"),
    repair=("grads = torch.autograd.grad(inner, list(params.values()), create_graph=True)",),
)
