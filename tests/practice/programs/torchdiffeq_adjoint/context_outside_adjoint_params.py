"""torchdiffeq-like: the adjoint returns gradients for the ODE function's parameters only; the context it carries gets none."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class OdeintAdjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, func, y0, steps, *adjoint_params):
        ctx.func, ctx.steps = func, steps
        h = 1.0 / steps
        with torch.no_grad():
            y = y0
            for i in range(steps):
                y = y + h * func(i * h, y)
        ctx.save_for_backward(y, *adjoint_params)
        return y

    @staticmethod
    def backward(ctx, adj_y):
        y, *params = ctx.saved_tensors
        h = 1.0 / ctx.steps
        adj_params = [torch.zeros_like(p) for p in params]
        for i in reversed(range(ctx.steps)):
            with torch.enable_grad():
                y = y.detach().requires_grad_(True)
                f = ctx.func(i * h, y)
                vjp_y, *vjp_params = torch.autograd.grad(f, (y, *params), adj_y, allow_unused=True, retain_graph=True)
            y = y - h * f.detach()
            adj_y = adj_y + h * vjp_y
            adj_params = [a if g is None else a + h * g for a, g in zip(adj_params, vjp_params)]
        return (None, adj_y, None, *adj_params)


def odeint_adjoint(func, y0, steps=4, adjoint_params=None):
    if adjoint_params is None:
        adjoint_params = tuple(p for p in func.parameters() if p.requires_grad)
    return OdeintAdjoint.apply(func, y0, steps, *adjoint_params)


class ConditionedODEFunc(nn.Module):
    def __init__(self, dim=3, ctx=4):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim + ctx, 16), nn.Tanh(), nn.Linear(16, dim))
        self.context = None

    def forward(self, t, y):
        return self.net(torch.cat([y, self.context], -1))


class LatentODE(nn.Module):
    def __init__(self):
        super().__init__()
        self.recognition = nn.Linear(8, 4)
        self.func = ConditionedODEFunc()
        self.readout = nn.Linear(3, 1)

    def forward(self, y0, observed):
        self.func.context = self.recognition(observed).tanh()
        return self.readout(odeint_adjoint(self.func, y0))  # cause


def run():
    torch.manual_seed(0)
    model = LatentODE()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    for _ in range(3):
        y0, observed = torch.randn(6, 3), torch.randn(6, 8)
        loss = (model(y0, observed).squeeze(1) - observed.mean(1)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {n: (p.detach() - start[n]).abs().max().item() for n, p in model.named_parameters()}


def verify(outcome):
    assert outcome["recognition.weight"] == 0.0
    assert outcome["func.net.0.weight"] > 0.0


TRUTH = Truth(
    fault="func.context is no adjoint parameter: the adjoint hands it no gradient and the recognition network is not trained",
    names=("recognition",),
    repair=(
        "extra = (*self.func.parameters(), self.func.context)\nreturn self.readout(odeint_adjoint(self.func, y0, adjoint_params=extra))",
    ),
)
