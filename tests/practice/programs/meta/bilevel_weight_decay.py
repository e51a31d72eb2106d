"""Bilevel search of weight decays: an unrolled lower level, hypergradients by grad, and a warm start without a graph."""

import torch
from torch.nn import functional as F

from tests.practice.truth import Truth


def lower_loss(w, log_decay, x, y):
    return F.binary_cross_entropy_with_logits(x @ w, y) + 0.5 * (log_decay.exp() * w.pow(2)).sum()


def unroll(w, log_decay, x, y, steps, lr):
    for _ in range(steps):
        (g,) = torch.autograd.grad(lower_loss(w, log_decay, x, y), w, create_graph=True)
        w = w - lr * g
    return w


def run():
    torch.manual_seed(0)
    truth = torch.cat([torch.randn(4) * 3, torch.zeros(4)])
    x, xv = torch.randn(24, 8), torch.randn(24, 8)
    y, yv = (x @ truth > 0).float(), (xv @ truth > 0).float()
    log_decay = torch.full((8,), -2.0, requires_grad=True)
    outer = torch.optim.Adam([log_decay], lr=0.1)
    warm = torch.zeros(8)
    history = []
    for _ in range(3):
        w0 = warm.clone().requires_grad_(True)
        w = unroll(w0, log_decay, x, y, steps=5, lr=0.5)
        val = F.binary_cross_entropy_with_logits(xv @ w, yv)
        outer.zero_grad()
        (hyper,) = torch.autograd.grad(val, [log_decay])
        log_decay.grad = hyper
        outer.step()
        warm = w.detach()
        history.append((val.item(), hyper.norm().item()))
    return log_decay, warm, history


TRUTH = Truth()


def verify(out):
    log_decay, warm, history = out
    assert all(g > 0 for _, g in history)
    assert (log_decay != -2.0).all() and not warm.requires_grad
