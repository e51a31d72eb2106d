"""Mixture of experts with top-1 routing: renormalised gates are always one, so the router never learns."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Expert(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.w1, self.w2 = nn.Linear(dim, hidden), nn.Linear(hidden, dim)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)))


class SparseMoE(nn.Module):
    def __init__(self, dim=12, hidden=24, n_experts=4, top_k=1):
        super().__init__()
        self.router = nn.Linear(dim, n_experts, bias=False)
        self.experts = nn.ModuleList(Expert(dim, hidden) for _ in range(n_experts))
        self.top_k = top_k

    def forward(self, x):
        shape = x.shape
        x = x.reshape(-1, shape[-1])
        probs = self.router(x).softmax(dim=-1)
        gates, chosen = probs.topk(self.top_k, dim=-1)
        gates = gates / gates.sum(dim=-1, keepdim=True)  # cause
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            token, slot = torch.where(chosen == e)
            if token.numel():
                out = out.index_add(0, token, expert(x[token]) * gates[token, slot].unsqueeze(-1))
        return out.view(shape)


class TinyMoELM(nn.Module):
    def __init__(self, vocab=30, dim=12):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.norm = nn.LayerNorm(dim)
        self.moe = SparseMoE(dim)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.embed(ids)
        return self.head(x + self.moe(self.norm(x)))


def run():
    torch.manual_seed(0)
    model = TinyMoELM()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    scales = []
    for _ in range(4):
        ids = torch.randint(0, 30, (8, 11))
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scales.append((model.moe.router.weight.grad.abs().max().item(), model.embed.weight.grad.abs().max().item()))
    return scales


def verify(outcome):
    assert all(router < 1e-6 * embed for router, embed in outcome)


TRUTH = Truth(
    fault="with k=1 the gates divided by their sum are the constant one: the router's gradient is zero",
    names=("router",),
    repair=("gates = gates / gates.sum(dim=-1, keepdim=True) if self.top_k > 1 else gates",),
)
