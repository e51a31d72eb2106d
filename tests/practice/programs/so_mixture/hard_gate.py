"""Mixture of experts: the expert is picked with argmax and one_hot, so the gate gets no gradient."""

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Expert(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 8), nn.ReLU(), nn.Linear(8, n_out))

    def forward(self, x):
        return self.net(x)


class HardMoE(nn.Module):
    def __init__(self, n_in=5, n_out=2, n_experts=3):
        super().__init__()
        self.n_experts = n_experts
        self.gate = nn.Linear(n_in, n_experts)
        self.experts = nn.ModuleList(Expert(n_in, n_out) for _ in range(n_experts))

    def forward(self, x):
        probs = F.softmax(self.gate(x), dim=-1)
        choice = probs.argmax(dim=-1)  # also
        weights = F.one_hot(choice, self.n_experts).to(x.dtype)  # cause
        outs = torch.stack([e(x) for e in self.experts], dim=1)
        return (weights.unsqueeze(-1) * outs).sum(1), choice


def piecewise(x):
    left = x[:, :2] * 2
    right = -x[:, 2:4] + 1
    return torch.where(x[:, 4:] > 0, left, right)


def run():
    torch.manual_seed(12)
    moe = HardMoE()
    opt = torch.optim.Adam(moe.parameters(), lr=1e-2)
    gate = moe.gate.weight.detach().clone()
    usage = torch.zeros(3)
    for it in range(4):
        x = torch.randn(32, 5)
        pred, choice = moe(x)
        usage += torch.bincount(choice, minlength=3)
        loss = F.mse_loss(pred, piecewise(x))
        opt.zero_grad()
        loss.backward()
        opt.step()
    return gate, moe.gate.weight.detach(), usage


def verify(outcome):
    before, after, usage = outcome
    assert usage.sum() == 128
    assert torch.equal(before, after)


TRUTH = Truth(
    fault="argmax and one_hot are not differentiable, so the gate never learns",
    names=("gate",),
    repair=("weights = F.one_hot(choice, self.n_experts).to(x.dtype) + probs - probs.detach()",),
)
