"""Implicit hypergradient: the Neumann series takes a vector-Jacobian product per term, and the first frees the graph."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Augmenter(nn.Module):
    """Learned noise of the inputs: the hyperparameters."""

    def __init__(self, dim):
        super().__init__()
        self.log_sigma = nn.Parameter(torch.full((dim,), -1.0))

    def forward(self, x):
        return x + self.log_sigma.exp() * torch.randn_like(x)


def neumann_series(v, inner_loss, params, terms=3, alpha=0.1):
    grads = torch.autograd.grad(inner_loss, params, create_graph=True)
    p = [t.clone() for t in v]
    for _ in range(terms):
        hvp = torch.autograd.grad(grads, params, grad_outputs=v)  # cause
        v = [a - alpha * b for a, b in zip(v, hvp)]
        p = [a + b for a, b in zip(p, v)]
    return [alpha * t for t in p], grads


def hypergradient(model, aug, train, val):
    params = list(model.parameters())
    x, y = val
    v = torch.autograd.grad(F.cross_entropy(model(x), y), params)
    x, y = train
    inverse_vp, grads = neumann_series(v, F.cross_entropy(model(aug(x)), y), params)
    return [-g for g in torch.autograd.grad(grads, list(aug.parameters()), grad_outputs=inverse_vp)]


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 3))
    aug = Augmenter(5)
    opt, hyper_opt = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9), torch.optim.RMSprop(aug.parameters(), 1e-2)
    train, val = (torch.randn(9, 5), torch.arange(9) % 3), (torch.randn(9, 5), torch.arange(9) % 3)
    for _ in range(2):
        for _inner in range(2):
            opt.zero_grad()
            F.cross_entropy(model(aug(train[0])), train[1]).backward()
            opt.step()
        for p, g in zip(aug.parameters(), hypergradient(model, aug, train, val)):
            p.grad = g
        hyper_opt.step()


TRUTH = Truth(
    fault="retain_graph is missing where the same gradients are differentiated again and again",
    raises="Trying to backward through the graph a second time",
    names=("retain_graph",),
    repair=("hvp = torch.autograd.grad(grads, params, grad_outputs=v, retain_graph=True)",),
)
