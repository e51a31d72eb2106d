"""iMAML: the inner loop is cut off by detach and the meta gradient comes from conjugate gradients, not from unrolling."""

import torch
from tests.practice.truth import Truth

LAM = 2.0


def inner_loss(phi, theta, x, y):
    return ((x @ phi - y) ** 2).mean() + LAM / 2 * ((phi - theta) ** 2).sum()


def adapt(theta, x, y, steps=400, lr=0.1):
    phi = theta.detach().clone().requires_grad_()
    for _ in range(steps):
        (g,) = torch.autograd.grad(inner_loss(phi, theta.detach(), x, y), phi)
        with torch.no_grad():
            phi -= lr * g
    return phi


def conjugate_gradient(matvec, b, steps=12):
    v, r = torch.zeros_like(b), b.clone()
    p, rs = r.clone(), r.dot(r)
    for _ in range(steps):
        if rs < 1e-16:
            break
        ap = matvec(p)
        alpha = rs / p.dot(ap)
        v.add_(alpha * p)
        r.sub_(alpha * ap)
        new = r.dot(r)
        p, rs = r + new / rs * p, new
    return v


def meta_grad(theta, task):
    (xs, ys), (xq, yq) = task
    phi = adapt(theta, xs, ys)
    (outer,) = torch.autograd.grad(((xq @ phi - yq) ** 2).mean(), phi)
    (g,) = torch.autograd.grad(((xs @ phi - ys) ** 2).mean(), phi, create_graph=True)

    def matvec(v):
        (hv,) = torch.autograd.grad(g, phi, v, retain_graph=True)
        return v + hv / LAM

    return conjugate_gradient(matvec, outer)


def make_task(dim):
    w = torch.randn(dim, dtype=torch.double)
    xs, xq = torch.randn(2, 10, dim, dtype=torch.double)
    return (xs, xs @ w), (xq, xq @ w)


def run():
    torch.manual_seed(0)
    theta = torch.nn.Parameter(torch.zeros(4, dtype=torch.double))
    opt = torch.optim.Adam([theta], lr=0.1)
    trail = []
    for _ in range(3):
        tasks = [make_task(4) for _ in range(2)]
        before = theta.detach().clone()
        theta.grad = torch.stack([meta_grad(theta, t) for t in tasks]).mean(0)
        trail.append((before, tasks, theta.grad.clone()))
        opt.step()
        opt.zero_grad()
    return trail, theta.detach().clone()


def verify(outcome):
    trail, theta = outcome
    assert theta.abs().min() > 0
    for before, tasks, grad in trail:
        t = before.clone().requires_grad_()
        loss = 0
        for (xs, ys), (xq, yq) in tasks:  # closed form of the inner optimum
            a = 2 * xs.T @ xs / len(xs) + LAM * torch.eye(4, dtype=torch.double)
            phi = torch.linalg.solve(a, 2 * xs.T @ ys / len(xs) + LAM * t)
            loss = loss + ((xq @ phi - yq) ** 2).mean() / len(tasks)
        (want,) = torch.autograd.grad(loss, t)
        assert torch.allclose(grad, want, atol=1e-6)


TRUTH = Truth()
