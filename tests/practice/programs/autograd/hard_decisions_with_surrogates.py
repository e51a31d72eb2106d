"""Spikes, argmax and rounding: hard values forwards, surrogate gradients backwards, ranks only as constants."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import Function

from tests.practice.truth import Truth


class Spike(Function):
    """Heaviside forwards, a fast sigmoid's slope backwards."""

    @staticmethod
    def forward(ctx, membrane):
        ctx.save_for_backward(membrane)
        return (membrane > 0).to(membrane.dtype)

    @staticmethod
    def backward(ctx, grad):
        (membrane,) = ctx.saved_tensors
        return grad / (1 + 5 * membrane.abs()).pow(2)


class SpikingLayer(nn.Module):
    def __init__(self, fin, fout, beta=0.8):
        super().__init__()
        self.fc = nn.Linear(fin, fout)
        self.beta = beta
        self.threshold = nn.Parameter(torch.full((fout,), 0.5))

    def forward(self, x):
        v = x.new_zeros(x.shape[0], self.fc.out_features)
        out = []
        for t in range(x.shape[1]):
            v = self.beta * v + self.fc(x[:, t])
            s = Spike.apply(v - self.threshold)
            v = v - s.detach() * self.threshold
            out.append(s)
        return torch.stack(out, 1)


class Router(nn.Module):
    def __init__(self, dim, experts=3):
        super().__init__()
        self.gate = nn.Linear(dim, experts)
        self.values = nn.Parameter(torch.randn(experts, 2))

    def forward(self, h):
        soft = self.gate(h).softmax(-1)
        hard = F.one_hot(soft.argmax(-1), soft.shape[-1]).to(soft.dtype)
        choice = hard + soft - soft.detach()
        return choice @ self.values


def rank_weights(losses):
    """Hard samples count more; the order itself is no function to derive."""
    order = losses.detach().argsort().argsort().to(losses.dtype)
    return 2 * (order + 1) / (len(losses) + 1)


def run():
    torch.manual_seed(0)
    spikes, router = SpikingLayer(4, 10), Router(10)
    params = [*spikes.parameters(), *router.parameters()]
    optimizer = torch.optim.Adam(params, lr=1e-2)
    start = [p.detach().clone() for p in params]
    binary = []
    for _ in range(3):
        x = torch.randn(12, 6, 4)
        s = spikes(x)
        binary.append(set(s.unique().tolist()) <= {0.0, 1.0})
        losses = F.cross_entropy(router(s.mean(1)), (x.mean((1, 2)) > 0).long(), reduction="none")
        optimizer.zero_grad()
        (losses * rank_weights(losses)).mean().backward()
        optimizer.step()
    return binary, [not torch.equal(a, b) for a, b in zip(start, params)]


def verify(outcome):
    binary, moved = outcome
    assert all(binary) and all(moved)


TRUTH = Truth()
