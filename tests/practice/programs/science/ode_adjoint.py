"""Neural ODE: the adjoint keeps the parameters' gradient of the last step of its integration only."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


def ode_solve(z0, t0, t1, f, steps=8):
    """Simplest Euler solver."""
    h = (t1 - t0) / steps
    t, z = t0, z0
    for _ in range(steps):
        z = z + h * f(z, t)
        t = t + h
    return z


class ODEF(nn.Module):
    def __init__(self, dim=2, hidden=8):
        super().__init__()
        self.lin1 = nn.Linear(dim + 1, hidden)
        self.lin2 = nn.Linear(hidden, dim)

    def forward(self, z, t):
        tt = torch.ones_like(z[:, :1]) * t
        return self.lin2(torch.tanh(self.lin1(torch.cat([z, tt], 1))))

    def forward_with_grad(self, z, t, grad_outputs):
        """Computes f and a df/dz, a df/dp."""
        with torch.enable_grad():
            z = z.detach().requires_grad_(True)
            out = self.forward(z, t)
            adfdz, *adfdp = torch.autograd.grad(
                (out,), (z,) + tuple(self.parameters()), grad_outputs=(grad_outputs,), allow_unused=True
            )
        return out.detach(), adfdz, torch.cat([p.flatten() for p in adfdp])

    def flatten_parameters(self):
        return torch.cat([p.flatten() for p in self.parameters()])


class ODEAdjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z0, t, flat_parameters, func, steps):
        zs = [z0]
        with torch.no_grad():
            for i in range(len(t) - 1):
                zs.append(ode_solve(zs[-1], t[i], t[i + 1], func, steps))
        z = torch.stack(zs)
        ctx.func, ctx.steps = func, steps
        ctx.save_for_backward(t, z.clone(), flat_parameters)
        return z

    @staticmethod
    def backward(ctx, dLdz):
        func, steps = ctx.func, ctx.steps
        t, z, flat_parameters = ctx.saved_tensors
        adj_z = torch.zeros_like(z[0])
        adj_p = torch.zeros_like(flat_parameters)
        with torch.no_grad():
            for i in range(len(t) - 1, 0, -1):
                adj_z = adj_z + dLdz[i]
                h = (t[i] - t[i - 1]) / steps
                # the states of this interval, once more from its left end
                states = [z[i - 1]]
                for k in range(steps - 1):
                    states.append(states[-1] + h * func(states[-1], t[i - 1] + k * h))
                for k in range(steps - 1, -1, -1):
                    _, adfdz, adfdp = func.forward_with_grad(states[k], t[i - 1] + k * h, adj_z)
                    adj_z = adj_z + h * adfdz
                    adj_p = h * adfdp  # cause
            adj_z = adj_z + dLdz[0]
        return adj_z, None, adj_p, None, None


class NeuralODE(nn.Module):
    def __init__(self, func, steps=4):
        super().__init__()
        self.func, self.steps = func, steps

    def forward(self, z0, t):
        return ODEAdjoint.apply(z0, t, self.func.flatten_parameters(), self.func, self.steps)


def spiral(z0, t):
    A = torch.tensor([[-0.1, 1.0], [-1.0, -0.1]])
    return torch.stack([z0 @ torch.matrix_exp(A * s) for s in t])


def reference(model, z0, t):
    zs = [z0]
    for i in range(len(t) - 1):
        zs.append(ode_solve(zs[-1], t[i], t[i + 1], model.func, model.steps))
    return torch.stack(zs)


def run():
    torch.manual_seed(0)
    model = NeuralODE(ODEF())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    t = torch.linspace(0, 1, 4)
    for _ in range(3):
        z0 = torch.randn(6, 2)
        target = spiral(z0, t)
        loss = nn.functional.mse_loss(model(z0, t), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    a = torch.autograd.grad(nn.functional.mse_loss(model(z0, t), target), model.func.lin2.weight)[0]
    b = torch.autograd.grad(nn.functional.mse_loss(reference(model, z0, t), target), model.func.lin2.weight)[0]
    return a, b


def verify(outcome):
    a, b = outcome
    assert not torch.allclose(a, b, atol=1e-5)


TRUTH = Truth(
    fault="the adjoint of the parameters is overwritten in place of summed, backward() returns a wrong gradient",
    names=("ODEAdjoint",),
    repair=("adj_p = adj_p + h * adfdp",),
)
