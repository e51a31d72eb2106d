"""Largest Hessian eigenvalue of a trained net by power iteration."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth, fails


def normalise(vs):
    norm = torch.sqrt(sum((v * v).sum() for v in vs))
    return [v / norm for v in vs]


def dot(us, vs):
    return sum((u * v).sum() for u, v in zip(us, vs))


class Sharpness:
    def __init__(self, model, loss_fn, iters=40):
        self.model, self.loss_fn, self.iters = model, loss_fn, iters

    def top_eigenvalue(self, x, y):
        params = list(self.model.parameters())
        loss = self.loss_fn(self.model(x), y)
        grads = torch.autograd.grad(loss, params, create_graph=True)
        v = normalise([g for g in grads])
        value = None
        for _ in range(self.iters):
            hv = torch.autograd.grad(dot(grads, v), params, create_graph=True)
            value = dot(hv, v).item()
            v = normalise(hv)  # cause
        return value


def exact(model, loss_fn, x, y):
    params = dict(model.named_parameters())
    shapes = [p.shape for p in params.values()]

    def f(flat):
        parts = flat.split([s.numel() for s in shapes])
        weights = {n: p.view(s) for n, p, s in zip(params, parts, shapes)}
        return loss_fn(torch.func.functional_call(model, weights, (x,)), y)

    flat = torch.cat([p.detach().reshape(-1) for p in params.values()])
    eig = torch.linalg.eigvalsh(torch.autograd.functional.hessian(f, flat))
    return eig[eig.abs().argmax()].item()


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))
    x = torch.randn(20, 3)
    y = (x[:, 0] > 0).long()
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(10):
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()
    estimate = Sharpness(model, F.cross_entropy, iters=6).top_eigenvalue(x, y)
    return estimate, exact(model, F.cross_entropy, x, y)


TRUTH = Truth(
    fault="the vector of the power iteration keeps its graph and is differentiated too",
    names=("v",),
    repair=("v = [u.detach() for u in normalise(hv)]",),
)


def well(out):
    estimate, want = out
    assert abs(estimate - want) < 0.1 * abs(want)


verify = fails(well)
