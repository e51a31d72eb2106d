"""A mixture of experts keeps its experts in a plain list."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Expert(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.w1, self.w2 = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x):
        return self.w2(torch.relu(self.w1(x)))


class MoE(nn.Module):
    def __init__(self, dim=4, experts=3):
        super().__init__()
        self.gate = nn.Linear(dim, experts)
        self.experts = [Expert(dim) for _ in range(experts)]  # cause
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        weights, chosen = self.gate(x).softmax(-1).topk(2, dim=-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            token, slot = torch.where(chosen == i)
            if len(token):
                out = out.index_add(0, token, weights[token, slot, None] * expert(x[token]))
        return self.norm(x + out)


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 4), MoE(), nn.Linear(4, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    before = model[1].experts[0].w1.weight.detach().clone()
    for _ in range(3):
        x = torch.randn(16, 5)
        loss = (model(x).squeeze(-1) - x.sum(-1)).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return torch.equal(before, model[1].experts[0].w1.weight)


TRUTH = Truth(
    fault="the experts are no modules of the model",
    names=("experts",),
    repair=("self.experts = nn.ModuleList(Expert(dim) for _ in range(experts))",),
)


def verify(still):
    assert still
