"""Neural ODE adjoint: forward integrates without a graph, backward integrates state, adjoint and parameter gradient in reverse."""

import torch
from torch import nn
from tests.practice.truth import Truth

STEPS = 40


class Field(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, 8), nn.Tanh(), nn.Linear(8, dim))

    def forward(self, t, y):
        return self.net(y) * (1 + t)


def rk4(f, t, y, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, [a + h / 2 * k for a, k in zip(y, k1)])
    k3 = f(t + h / 2, [a + h / 2 * k for a, k in zip(y, k2)])
    k4 = f(t + h, [a + h * k for a, k in zip(y, k3)])
    return [a + h / 6 * (p + 2 * q + 2 * r + s) for a, p, q, r, s in zip(y, k1, k2, k3, k4)]


class Adjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, func, y0, *params):
        y, h = [y0.detach()], 1 / STEPS
        for i in range(STEPS):
            y = rk4(lambda t, s: [func(t, s[0])], i * h, y, h)
        ctx.func = func
        ctx.save_for_backward(y[0], *params)
        return y[0]

    @staticmethod
    def backward(ctx, grad):
        y1, *params = ctx.saved_tensors

        def augmented(t, state):
            with torch.enable_grad():
                y = state[0].detach().requires_grad_()
                dy = ctx.func(t, y)
                vjp = torch.autograd.grad(dy, [y, *params], -state[1])
            return [dy.detach(), *vjp]

        state = [y1, grad, *[torch.zeros_like(p) for p in params]]
        h = 1 / STEPS
        for i in range(STEPS, 0, -1):
            state = rk4(augmented, i * h, state, -h)
        return None, *state[1:]


def train(integrate):
    torch.manual_seed(0)
    field, read = Field(3).double(), nn.Linear(3, 1).double()
    params = [*field.parameters(), *read.parameters()]
    opt = torch.optim.Adam(params, lr=1e-2)
    grads = []
    for _ in range(2):
        y0 = torch.randn(5, 3, dtype=torch.double)
        opt.zero_grad()
        (read(integrate(field, y0)) - y0.norm(dim=1, keepdim=True)).pow(2).mean().backward()
        grads.append([p.grad.clone() for p in params])
        opt.step()
    return grads


def direct(field, y0):
    y = [y0]
    for i in range(STEPS):
        y = rk4(lambda t, s: [field(t, s[0])], i / STEPS, y, 1 / STEPS)
    return y[0]


def run():
    return train(lambda field, y0: Adjoint.apply(field, y0, *field.parameters()))


def verify(grads):
    for a, b in zip(grads, train(direct)):
        assert all(torch.allclose(x, y, atol=1e-6) and x.abs().sum() > 0 for x, y in zip(a, b))
    assert not torch.equal(grads[0][0], grads[1][0])


TRUTH = Truth()
