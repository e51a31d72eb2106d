"""Healthy: a binarised net with a straight-through Function, latent weights clamped in place after each step, and the first layer frozen by a gradient mask."""

import torch
import torch.nn as nn

from tests.practice.truth import Truth


class BinarizeSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, w, bound):
        ctx.save_for_backward(w)
        ctx.bound = bound
        return torch.where(w >= 0, torch.ones_like(w), -torch.ones_like(w))

    @staticmethod
    def backward(ctx, grad):
        (w,) = ctx.saved_tensors
        return grad * (w.abs() <= ctx.bound), None


class BinaryLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_out, n_in).uniform_(-0.3, 0.3))
        self.scale = nn.Parameter(torch.full((n_out,), 0.1))

    def forward(self, x):
        return (x @ BinarizeSTE.apply(self.weight, 1.0).t()) * self.scale

    @torch.no_grad()
    def clip_latent(self):
        self.weight.clamp_(-1, 1)


def run():
    torch.manual_seed(2)
    l1, l2, out = BinaryLinear(6, 10), BinaryLinear(10, 10), nn.Linear(10, 1)
    net = nn.Sequential(l1, nn.Hardtanh(), l2, nn.Hardtanh(), out)
    # half of the rows of the first layer stay as they were given
    keep = torch.ones_like(l1.weight)
    keep[:5] = 0
    l1.weight.register_hook(lambda g: g * keep)
    opt = torch.optim.Adam(net.parameters(), lr=0.02)
    before = {n: p.detach().clone() for n, p in net.named_parameters()}
    for step in range(4):
        x = torch.randn(20, 6).sign()
        y = x[:, :1] * x[:, 1:2]
        loss = nn.functional.soft_margin_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        for m in net.modules():
            if isinstance(m, BinaryLinear):
                m.clip_latent()
    return before, {n: p.detach().clone() for n, p in net.named_parameters()}


def verify(outcome):
    before, after = outcome
    assert all(not torch.equal(before[n], after[n]) for n in before)
    assert torch.equal(before["0.weight"][:5], after["0.weight"][:5])
    assert not torch.equal(before["0.weight"][5:], after["0.weight"][5:])


TRUTH = Truth()
