"""Implicit MAML: the copy that has adapted is fixed, and conjugate gradients solve for the outer gradient, set by hand."""

import copy

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from tests.practice.truth import Truth

LAM = 2.0


def proximal(model, anchor, x, y):
    flat = parameters_to_vector(model.parameters())
    return F.mse_loss(model(x), y) + 0.5 * LAM * (flat - anchor).pow(2).sum()


def hessian_product(model, x, y, v):
    params = list(model.parameters())
    grads = torch.autograd.grad(F.mse_loss(model(x), y), params, create_graph=True)
    dot = sum((g.flatten() * u).sum() for g, u in zip(grads, v.split([p.numel() for p in params])))
    hv = torch.autograd.grad(dot, params)
    return v + torch.cat([h.flatten() for h in hv]) / LAM


def cg(matvec, b, iters=4):
    x = torch.zeros_like(b)
    r, p = b.clone(), b.clone()
    rr = r @ r
    for _ in range(iters):
        ap = matvec(p)
        alpha = rr / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        new = r @ r
        p = r + new / rr * p
        rr = new
    return x


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
    first = parameters_to_vector(model.parameters()).detach().clone()
    outer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(2):
        theta = parameters_to_vector(model.parameters()).detach()
        x = torch.randn(16, 2)
        y = (x[:, :1] * torch.randn(1)).sin()
        task = copy.deepcopy(model)
        inner = torch.optim.SGD(task.parameters(), lr=0.1)
        for _ in range(4):
            inner.zero_grad()
            proximal(task, theta, x[:8], y[:8]).backward()
            inner.step()
        val = F.mse_loss(task(x[8:]), y[8:])
        g = torch.cat([t.flatten() for t in torch.autograd.grad(val, list(task.parameters()))])
        meta_grad = cg(lambda v: hessian_product(task, x[:8], y[:8], v), g)
        offset = 0
        for p in model.parameters():
            p.grad = meta_grad[offset : offset + p.numel()].view_as(p).clone()
            offset += p.numel()
        outer.step()
        losses.append(val.item())
    return model, first, losses


TRUTH = Truth()


def verify(out):
    model, first, losses = out
    assert not torch.equal(first, parameters_to_vector(model.parameters()))
    assert all(0 <= loss < 100 for loss in losses)
