"""Bilevel optimization: the inner loss takes the learned weight decay as a Python number, which cuts it off."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class HyperParams(nn.Module):
    def __init__(self, n_layers):
        super().__init__()
        self.log_wd = nn.Parameter(torch.full((n_layers,), -3.0))


def forward(weights, x):
    for w, b in weights[:-1]:
        x = torch.tanh(F.linear(x, w, b))
    return F.linear(x, *weights[-1])


def init_weights(sizes):
    out = []
    for i, o in zip(sizes, sizes[1:]):
        w = (torch.randn(o, i) / i**0.5).requires_grad_()
        out.append((w, torch.zeros(o, requires_grad=True)))
    return out


def inner_loss(weights, hyper, x, y):
    data = F.mse_loss(forward(weights, x), y)
    penalty = 0.0
    for i, (w, _) in enumerate(weights):
        wd = hyper.log_wd[i].exp().item()  # cause
        penalty = penalty + wd * w.pow(2).sum()
    return data + penalty


def unroll(weights, hyper, x, y, steps=3, lr=0.1):
    for _ in range(steps):
        flat = [p for pair in weights for p in pair]
        grads = torch.autograd.grad(inner_loss(weights, hyper, x, y), flat, create_graph=True)
        new = [p - lr * g for p, g in zip(flat, grads)]
        weights = list(zip(new[::2], new[1::2]))
    return weights


def run():
    torch.manual_seed(0)
    hyper = HyperParams(2)
    hyper_opt = torch.optim.Adam(hyper.parameters(), lr=0.05)
    x, y, xv, yv = torch.randn(12, 4), torch.randn(12, 1), torch.randn(12, 4), torch.randn(12, 1)
    weights = init_weights([4, 8, 1])
    for outer in range(2):
        final = unroll(weights, hyper, x, y)
        val_loss = F.mse_loss(forward(final, xv), yv)
        (hyper.log_wd.grad,) = torch.autograd.grad(val_loss, hyper.log_wd)  # symptom
        hyper_opt.step()
        weights = [(w.detach().requires_grad_(), b.detach().requires_grad_()) for w, b in final]
        print(f"outer {outer} val {val_loss.item():.4f} wd {hyper.log_wd.exp().tolist()}")


TRUTH = Truth(
    fault=".item() of the hyperparameter: the validation loss does not depend on it",
    raises="The differentiated Tensor at index 0 appears to not have been used in the graph",
    names=("log_wd",),
    repair=("wd = hyper.log_wd[i].exp()",),
)
