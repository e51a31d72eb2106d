"""Keyword spotting: learned quantiser steps, an average of the compiled net, checks in eager stance."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth()


class Lsq(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step, top):
        scaled = x / step
        ctx.save_for_backward(scaled)
        ctx.top = top
        return scaled.round().clamp(-top, top) * step

    @staticmethod
    def backward(ctx, grad):
        (scaled,) = ctx.saved_tensors
        top = ctx.top
        inside = scaled.abs() <= top
        slope = torch.where(inside, scaled.round() - scaled, scaled.sign() * top)
        return grad * inside, (grad * slope).sum() / (scaled.numel() * top) ** 0.5, None


class QuantLinear(nn.Linear):
    def __init__(self, inner, outer, bits=4):
        super().__init__(inner, outer)
        self.top = 2 ** (bits - 1) - 1
        self.step = nn.Parameter(2 * self.weight.detach().abs().mean() / self.top**0.5)

    def forward(self, x):
        return F.linear(x, Lsq.apply(self.weight, self.step, self.top), self.bias)


def spotter():
    return nn.Sequential(QuantLinear(12, 16), nn.BatchNorm1d(16), nn.ReLU(), QuantLinear(16, 4))


@torch.no_grad()
def check(average, x, y):
    average.eval()
    with torch.compiler.set_stance("force_eager"):
        score = (average(x).argmax(1) == y).float().mean().item()
    average.train()
    return score


def setup():
    torch.manual_seed(0)


def run():
    net = spotter()
    forward = torch.compile(net, backend=BACKEND)
    average = AveragedModel(forward, multi_avg_fn=get_ema_multi_avg_fn(0.8), use_buffers=True)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    scores = []
    for _ in range(4):
        x = torch.randn(16, 12)
        y = (x[:, 0] > 0).long() + 2 * (x[:, 1] > 0).long()
        loss = F.cross_entropy(forward(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update_parameters(forward)
        scores.append(check(average, x, y))
    shadow = dict(average.module._orig_mod.named_parameters())
    return scores, [p.grad for p in net.parameters()], net[0].step, shadow["0.step"], net[1].num_batches_tracked.item()


def verify(outcome):
    scores, grads, step, shadow, batches = outcome
    assert all(g is not None and g.abs().max() > 0 for g in grads) and batches == 4
    assert shadow.grad is None and not torch.equal(step, shadow) and len(scores) == 4
