"""Learned learning rates: SGD steps stay in the graph, the validation loss is backpropagated into log learning rates, weights are then re-leafed."""

import torch
from torch import nn
import torch.nn.functional as F
from torch.func import functional_call
from tests.practice.truth import Truth

UNROLL = 3


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


class Hyper:
    def __init__(self, model):
        self.model = model
        self.weights = {n: p.detach().clone().requires_grad_() for n, p in model.named_parameters()}
        self.log_lr = {n: torch.full((), -3.0, dtype=torch.double, requires_grad=True) for n in self.weights}
        self.opt = torch.optim.Adam(self.log_lr.values(), lr=0.1)

    def loss(self, w, x, y):
        return F.mse_loss(functional_call(self.model, w, (x,)), y)

    def window(self, train, val):
        w = self.weights
        for x, y in train:
            grads = torch.autograd.grad(self.loss(w, x, y), list(w.values()), create_graph=True)
            w = {n: p - self.log_lr[n].exp() * g for (n, p), g in zip(w.items(), grads)}
        self.opt.zero_grad()
        self.loss(w, *val).backward(inputs=list(self.log_lr.values()))
        hyper = {n: p.grad.clone() for n, p in self.log_lr.items()}
        self.opt.step()
        self.weights = {n: p.detach().requires_grad_() for n, p in w.items()}  # a new window, a new leaf
        return hyper


def batch():
    x = torch.randn(10, 4, dtype=torch.double)
    return x, x[:, 0] - 2 * x[:, 1]


def run():
    torch.manual_seed(0)
    h = Hyper(Model().double())
    log = []
    for _ in range(3):
        train, val = [batch() for _ in range(UNROLL)], batch()
        w0 = {n: p.detach().clone() for n, p in h.weights.items()}
        lr0 = {n: p.detach().clone() for n, p in h.log_lr.items()}
        log.append((train, val, w0, lr0, h.window(train, val)))
    return h, log


def verify(outcome):
    h, log = outcome

    def value(train, val, w, lr):
        for x, y in train:
            w = {n: p.detach().requires_grad_() for n, p in w.items()}
            grads = torch.autograd.grad(h.loss(w, x, y), list(w.values()))
            w = {n: p - lr[n].exp() * g for (n, p), g in zip(w.items(), grads)}
        return h.loss(w, *val).item()

    for train, val, w0, lr0, hyper in log:
        for n in lr0:
            up = value(train, val, w0, {**lr0, n: lr0[n] + 1e-5})
            down = value(train, val, w0, {**lr0, n: lr0[n] - 1e-5})
            assert abs((up - down) / 2e-5 - hyper[n].item()) < 1e-6 * max(1, abs(up) * 10)
    assert all(p.item() != -3.0 for p in h.log_lr.values())
    assert all(not torch.equal(h.weights[n], log[0][2][n]) for n in h.weights)


TRUTH = Truth()
