"""torch.func training: the orthogonality penalty reads the module's own weights and has no gradient to the params dict."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad

from tests.practice.truth import Truth


class OrthoRNN(nn.Module):
    def __init__(self, dim=3, hidden=6):
        super().__init__()
        self.inp = nn.Linear(dim, hidden)
        self.rec = nn.Linear(hidden, hidden, bias=False)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h = torch.zeros(len(x), self.rec.in_features)
        for t in range(x.shape[1]):
            h = torch.tanh(self.inp(x[:, t]) + self.rec(h))
        return self.out(h).squeeze(-1)


def orthogonality(weight):
    eye = torch.eye(len(weight))
    return (weight @ weight.T - eye).pow(2).sum()


class FunctionalTrainer:
    def __init__(self, model, strength, lr=1e-2):
        self.model, self.strength, self.lr = model, strength, lr
        self.params = {n: p.detach().clone() for n, p in model.named_parameters()}

    def loss(self, params, x, y):
        fit = F.mse_loss(functional_call(self.model, params, (x,)), y)
        return fit + self.strength * orthogonality(self.model.rec.weight)  # cause

    def step(self, x, y):
        grads = grad(self.loss)(self.params, x, y)
        self.params = {n: p - self.lr * grads[n] for n, p in self.params.items()}


def sequences(n):
    g = torch.Generator().manual_seed(2)
    for _ in range(n):
        x = torch.randn(8, 5, 3, generator=g)
        yield x, x[:, 0, 0]


def train(strength):
    torch.manual_seed(0)
    trainer = FunctionalTrainer(OrthoRNN(), strength)
    for x, y in sequences(4):
        trainer.step(x, y)
    return trainer.params["rec.weight"]


def run():
    return train(0.0), train(1.0)


def verify(outcome):
    without, with_penalty = outcome
    assert torch.equal(without, with_penalty)


TRUTH = Truth(
    fault="the penalty is a function of model.rec.weight, not of params['rec.weight'], and is a constant for grad()",
    names=("rec.weight",),
    repair=('return fit + self.strength * orthogonality(params["rec.weight"])',),
)
