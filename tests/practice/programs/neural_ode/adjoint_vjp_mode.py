"""Adjoint of an ODE block: the dynamics are evaluated again in backward, where gradients are off."""

import torch
from torch import nn

from tests.practice.truth import Truth


def flatten(tensors):
    return torch.cat([t.reshape(-1) for t in tensors])


class ODEBlockFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z0, func, steps, *params):
        ctx.func, ctx.steps, ctx.params = func, steps, params
        z = z0
        for _ in range(steps):
            z = z + func(z) / steps
        ctx.save_for_backward(z)
        return z

    @staticmethod
    def backward(ctx, adj):
        (z,) = ctx.saved_tensors
        func, params, h = ctx.func, ctx.params, 1 / ctx.steps
        adj_p = torch.zeros(sum(p.numel() for p in params))
        for _ in range(ctx.steps):
            zi = z.detach().requires_grad_(True)
            dz = func(zi)  # cause
            grads = torch.autograd.grad(dz, (zi, *params), adj)  # symptom
            z = z - h * dz.detach()
            adj = adj + h * grads[0]
            adj_p = adj_p + h * flatten(grads[1:])
        split = adj_p.split([p.numel() for p in params])
        return adj, None, None, *(g.view_as(p) for g, p in zip(split, params))


class ConvDynamics(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.norm = nn.GroupNorm(2, ch)
        self.conv = nn.Conv2d(ch, ch, 3, padding=1)

    def forward(self, z):
        return self.conv(torch.relu(self.norm(z)))


class ODENet(nn.Module):
    def __init__(self, ch=4, steps=3):
        super().__init__()
        self.stem = nn.Conv2d(1, ch, 3, stride=2, padding=1)
        self.func = ConvDynamics(ch)
        self.steps = steps
        self.fc = nn.Linear(ch, 5)

    def forward(self, x):
        z = self.stem(x)
        z = ODEBlockFn.apply(z, self.func, self.steps, *self.func.parameters())
        return self.fc(z.mean(dim=(2, 3)))


def run():
    torch.manual_seed(0)
    model = ODENet()
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    sched = torch.optim.lr_scheduler.MultiStepLR(opt, milestones=[2], gamma=0.1)
    for it in range(3):
        x, y = torch.randn(6, 1, 8, 8), torch.randint(0, 5, (6,))
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        print(f"iter {it} loss {loss.item():.4f} lr {sched.get_last_lr()[0]:.3f}")
    return model


TRUTH = Truth(
    fault="backward evaluates the dynamics without recording a graph",
    raises="element 0 of tensors does not require grad",
    repair=("with torch.enable_grad():\n    dz = func(zi)",),
)
