"""Physics: an adjoint ODE solver sees the parameters of the module it is given, and the controller is hidden in a closure."""

import torch
from torch import nn

from tests.practice.truth import Truth


class EulerAdjoint(torch.autograd.Function):
    """Integrates without a graph and rebuilds each step in backward."""

    @staticmethod
    def forward(ctx, func, y0, steps, dt, *params):
        ys = [y0]
        with torch.no_grad():
            for i in range(steps):
                ys.append(ys[-1] + dt * func(i * dt, ys[-1]))
        ctx.func, ctx.dt, ctx.params = func, dt, params
        ctx.save_for_backward(*ys)
        return torch.stack(ys)

    @staticmethod
    def backward(ctx, grad):
        ys = ctx.saved_tensors
        a = grad[-1]
        totals = [torch.zeros_like(p) for p in ctx.params]
        for i in reversed(range(len(ys) - 1)):
            with torch.enable_grad():
                y = ys[i].detach().requires_grad_(True)
                step = y + ctx.dt * ctx.func(i * ctx.dt, y)
                grads = torch.autograd.grad(step, (y, *ctx.params), a, allow_unused=True)
            a = grads[0] + grad[i]
            for t, g in zip(totals, grads[1:]):
                if g is not None:
                    t += g
        return (None, a, None, None, *totals)


def odeint_adjoint(func, y0, steps, dt, adjoint_params=None):
    params = tuple(func.parameters()) if adjoint_params is None else tuple(adjoint_params)
    return EulerAdjoint.apply(func, y0, steps, dt, *params)


class Pendulum(nn.Module):
    """Friction and length are estimated; the torque comes from outside."""

    def __init__(self, torque):
        super().__init__()
        self.log_length = nn.Parameter(torch.tensor(0.1))
        self.friction = nn.Parameter(torch.tensor(0.2))
        self.torque = torque

    def forward(self, t, y):
        angle, speed = y[..., :1], y[..., 1:]
        acceleration = -angle.sin() / self.log_length.exp() - self.friction * speed + self.torque(t, y)
        return torch.cat([speed, acceleration], dim=-1)


class Swing(nn.Module):
    def __init__(self):
        super().__init__()
        self.controller = nn.Sequential(nn.Linear(2, 12), nn.Tanh(), nn.Linear(12, 1))
        self.plant = Pendulum(lambda t, y: self.controller(y))  # also

    def forward(self, y0, steps=8, dt=0.1):
        return odeint_adjoint(self.plant, y0, steps, dt)  # cause


def run():
    torch.manual_seed(0)
    model = Swing()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    for _ in range(3):
        y0 = torch.randn(8, 2)
        loss = model(y0)[-1].pow(2).mean()  # bring it to rest
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {n: torch.equal(before[n], p) for n, p in model.named_parameters()}


def verify(outcome):
    for name, same in outcome.items():
        assert same == name.startswith("controller"), name


TRUTH = Truth(
    fault="func.parameters() does not hold the controller, which the plant reaches through a lambda: it gets no gradient",
    names=("controller",),
    repair=("return odeint_adjoint(self.plant, y0, steps, dt, adjoint_params=self.parameters())",),
)
