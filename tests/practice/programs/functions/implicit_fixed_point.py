"""A Function that iterates without a graph and differentiates the fixed point: constants of the problem get None."""

import torch
from torch import nn

from tests.practice.truth import Truth


class FixedPoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, W, b, x, iters):
        z = torch.zeros(x.shape[0], W.shape[0], dtype=x.dtype)
        for _ in range(iters):
            z = torch.tanh(z @ W.t() + x + b)
        ctx.save_for_backward(W, z)
        ctx.iters = iters
        return z

    @staticmethod
    def backward(ctx, grad):
        W, z = ctx.saved_tensors
        slope = 1 - z * z
        v = grad
        for _ in range(ctx.iters):
            v = grad + (v * slope) @ W
        local = v * slope
        grad_W = local.t() @ z if ctx.needs_input_grad[0] else None
        grad_b = local.sum(0) if ctx.needs_input_grad[1] else None
        grad_x = local if ctx.needs_input_grad[2] else None
        return grad_W, grad_b, grad_x, None


class DEQ(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.W, self.b = nn.Parameter(0.3 * torch.randn(dim, dim) / dim**0.5), nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        return FixedPoint.apply(self.W, self.b, x, 30)

    @torch.no_grad()
    def contract(self, limit=0.9):
        norm = torch.linalg.matrix_norm(self.W, 2)
        if norm > limit:
            self.W.mul_(limit / norm)


def run():
    torch.manual_seed(0)
    encoder, deq, head = nn.Linear(4, 6), DEQ(6), nn.Linear(6, 1)
    params = [p for m in (encoder, deq, head) for p in m.parameters()]
    optimizer = torch.optim.Adam(params, lr=1e-2)
    losses = []
    for _ in range(3):
        x = torch.randn(16, 4)
        loss = (head(deq(encoder(x))) - x.norm(dim=1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        deq.contract()
        losses.append(loss.item())
    W = (0.2 * torch.randn(3, 3, dtype=torch.double)).requires_grad_()
    b, x = torch.zeros(3, dtype=torch.double, requires_grad=True), torch.randn(2, 3, dtype=torch.double)
    return params, losses, torch.autograd.gradcheck(lambda W, b: FixedPoint.apply(W, b, x, 80), (W, b))


TRUTH = Truth()


def verify(out):
    params, losses, exact = out
    assert exact and max(losses) < 100
    assert all(p.grad.abs().sum() > 0 for p in params)
