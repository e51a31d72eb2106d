"""Discrete adjoint of Euler steps: the parameters' gradients are kept of the last step only, not added up."""

import torch
from torch import nn

from tests.practice.truth import Truth


class EulerAdjoint(torch.autograd.Function):
    """Stores only the states; each step's graph is made again in backward."""

    @staticmethod
    def forward(ctx, z0, func, n, h, *params):
        states = [z0]
        for _ in range(n):
            states.append(states[-1] + h * func(states[-1]))
        ctx.func, ctx.h, ctx.params = func, h, params
        ctx.save_for_backward(*states[:-1])
        return states[-1]

    @staticmethod
    def backward(ctx, adj):
        grads = [torch.zeros_like(p) for p in ctx.params]
        for z in reversed(ctx.saved_tensors):
            with torch.enable_grad():
                z = z.detach().requires_grad_(True)
                out = z + ctx.h * ctx.func(z)
            adj, *step_grads = torch.autograd.grad(out, (z, *ctx.params), adj)
            grads = [s for g, s in zip(grads, step_grads)]  # cause
        return adj, None, None, None, *grads


class Field(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.lin1 = nn.Linear(dim, 12)
        self.lin2 = nn.Linear(12, dim)

    def forward(self, z):
        return self.lin2(torch.nn.functional.silu(self.lin1(z)))


class LatentODE(nn.Module):
    def __init__(self, obs=3, latent=4):
        super().__init__()
        self.enc = nn.GRU(obs, latent, batch_first=True)
        self.field = Field(latent)
        self.dec = nn.Linear(latent, obs)

    def forward(self, seq, horizon=6):
        _, h = self.enc(seq)
        z = EulerAdjoint.apply(h[0], self.field, horizon, 0.2, *self.field.parameters())
        return self.dec(z)


def run():
    torch.manual_seed(0)
    model = LatentODE()
    opt = torch.optim.Adamax(model.parameters(), lr=1e-2)
    for step in range(2):
        seq = torch.randn(8, 5, 3).cumsum(1)
        target = seq[:, -1] + 0.1
        loss = nn.functional.mse_loss(model(seq), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"{step}: {loss.item():.4f}")
    return model, seq, target


def verify(out):
    model, seq, target = out
    model.zero_grad()
    nn.functional.mse_loss(model(seq), target).backward()
    ours = model.field.lin2.bias.grad.clone()
    _, h = model.enc(seq)
    z = h[0]
    for _ in range(6):
        z = z + 0.2 * model.field(z)
    (exact,) = torch.autograd.grad(nn.functional.mse_loss(model.dec(z), target), model.field.lin2.bias)
    assert not torch.allclose(ours, exact, rtol=1e-3)


TRUTH = Truth(
    fault="a Function's gradient for the parameters is wrong: one step's instead of the sum",
    names=("EulerAdjoint",),
    values=True,
    repair=("grads = [g + s for g, s in zip(grads, step_grads)]",),
)
