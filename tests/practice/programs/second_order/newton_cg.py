"""Hessian-free optimisation: the gradient that the Hessian-vector products differentiate is taken without a graph."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def flat(tensors):
    return torch.cat([t.reshape(-1) for t in tensors])


def conjugate_gradient(matvec, b, iters=5, tol=1e-8):
    x = torch.zeros_like(b)
    r, p = b.clone(), b.clone()
    rs = r @ r
    for _ in range(iters):
        ap = matvec(p)
        alpha = rs / (p @ ap + 1e-12)
        x, r = x + alpha * p, r - alpha * ap
        new = r @ r
        if new < tol:
            break
        p, rs = r + new / rs * p, new
    return x


class NewtonCG:
    def __init__(self, model, damping=1.0, lr=1.0):
        self.params = [p for p in model.parameters() if p.requires_grad]
        self.damping, self.lr = damping, lr

    def hvp(self, grads, v):
        dot = flat(grads) @ v
        return flat(torch.autograd.grad(dot, self.params, retain_graph=True)) + self.damping * v  # symptom

    def step(self, loss):
        grads = torch.autograd.grad(loss, self.params)  # cause
        direction = conjugate_gradient(lambda v: self.hvp(grads, v), -flat(grads).detach())
        with torch.no_grad():
            for p, d in zip(self.params, direction.split([p.numel() for p in self.params])):
                p.add_(d.view_as(p), alpha=self.lr)
        return direction.norm().item()


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 2))
    opt = NewtonCG(model, damping=0.5)
    x = torch.randn(40, 5)
    y = (x[:, 0] * x[:, 1] > 0).long()
    for it in range(3):
        loss = F.cross_entropy(model(x), y)
        norm = opt.step(loss)
        with torch.no_grad():
            acc = (model(x).argmax(1) == y).float().mean().item()
        print(f"it {it} loss {loss.item():.4f} |d| {norm:.3f} acc {acc:.2f}")
    return model


TRUTH = Truth(
    fault="a gradient without a graph is differentiated",
    raises="element 0 of tensors does not require grad",
    names=("create_graph",),
    repair=("grads = torch.autograd.grad(loss, self.params, create_graph=True)",),
)
