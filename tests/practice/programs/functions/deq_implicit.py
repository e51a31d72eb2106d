"""Implicit layers: a deep equilibrium model with a fixed point under no_grad and a hook that solves for the gradient; healthy."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


def forward_iteration(f, x0, max_iter=60, tol=1e-6):
    f0 = f(x0)
    res = []
    for _ in range(max_iter):
        x = f0
        f0 = f(x)
        res.append((f0 - x).norm().item() / (1e-7 + f0.norm().item()))
        if res[-1] < tol:
            break
    return f0, res


class Cell(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.linear1 = nn.Linear(dim, dim, bias=False)
        self.linear2 = nn.Linear(dim, dim)
        with torch.no_grad():
            self.linear1.weight.div_(2 * torch.linalg.matrix_norm(self.linear1.weight, 2))

    def forward(self, z, x):
        return torch.tanh(self.linear1(z) + self.linear2(x))


class DEQFixedPoint(nn.Module):
    def __init__(self, f, solver, **kwargs):
        super().__init__()
        self.f, self.solver, self.kwargs = f, solver, kwargs
        self.hook = None

    def forward(self, x):
        with torch.no_grad():
            z, self.forward_res = self.solver(lambda z: self.f(z, x), torch.zeros_like(x), **self.kwargs)
        z = self.f(z, x)
        if not (self.training and z.requires_grad):
            return z
        z0 = z.clone().detach().requires_grad_()
        f0 = self.f(z0, x)

        def backward_hook(grad):
            g, self.backward_res = self.solver(
                lambda y: torch.autograd.grad(f0, z0, y, retain_graph=True)[0] + grad, torch.zeros_like(grad), **self.kwargs)
            return g

        z.register_hook(backward_hook)
        return z


class DEQModel(nn.Module):
    def __init__(self, dim=8, classes=3):
        super().__init__()
        self.inject = nn.Linear(5, dim)
        self.deq = DEQFixedPoint(Cell(dim), forward_iteration)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        return self.head(self.deq(torch.relu(self.inject(x))))


def epoch(loader, model, opt=None):
    total = 0.0
    model.eval() if opt is None else model.train()
    for X, y in loader:
        with torch.set_grad_enabled(opt is not None):
            loss = F.cross_entropy(model(X), y)
        if opt:
            opt.zero_grad()
            loss.backward()
            opt.step()
        total += loss.item()
    return total


def unrolled(model, X, y):
    x = torch.relu(model.inject(X))
    z = torch.zeros_like(x)
    for _ in range(60):
        z = model.deq.f(z, x)
    return F.cross_entropy(model.head(z), y)


def run():
    torch.manual_seed(0)
    model = DEQModel()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    train = [(torch.randn(8, 5), torch.randint(0, 3, (8,))) for _ in range(3)]
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    for _ in range(2):
        epoch(train, model, opt)
        epoch(train, model)
    model.train()
    X, y = train[0]
    w = [model.deq.f.linear1.weight, model.inject.weight]
    implicit = torch.autograd.grad(F.cross_entropy(model(X), y), w)
    exact = torch.autograd.grad(unrolled(model, X, y), w)
    return before, model, implicit, exact


def verify(outcome):
    before, model, implicit, exact = outcome
    assert all(not torch.equal(p, before[n]) for n, p in model.named_parameters())
    assert all(torch.allclose(a, b, atol=1e-4) for a, b in zip(implicit, exact))


TRUTH = Truth()
