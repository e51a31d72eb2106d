"""Sparse upcycling: the experts are set from the dense layer by .data and share its memory."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class MLP(nn.Module):
    def __init__(self, dim, inner):
        super().__init__()
        self.w1 = nn.Linear(dim, inner, bias=False)
        self.w2 = nn.Linear(inner, dim, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)))


class MoE(nn.Module):
    def __init__(self, dim, inner, n_experts=3, top_k=1):
        super().__init__()
        self.gate = nn.Linear(dim, n_experts, bias=False)
        self.experts = nn.ModuleList([MLP(dim, inner) for _ in range(n_experts)])
        self.top_k = top_k

    @classmethod
    def from_dense(cls, mlp, **kwargs):
        inner, dim = mlp.w1.weight.shape
        moe = cls(dim, inner, **kwargs)
        for expert in moe.experts:
            for mine, theirs in zip(expert.parameters(), mlp.parameters()):
                mine.data = theirs.data  # cause
        return moe

    def forward(self, x):
        shape, x = x.shape, x.reshape(-1, x.size(-1))
        weights, chosen = self.gate(x).softmax(-1).topk(self.top_k, dim=-1)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            token, slot = torch.where(chosen == e)
            out = out.index_add(0, token, expert(x[token]) * weights[token, slot, None])
        return out.view(shape)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm, self.mlp = nn.LayerNorm(dim), MLP(dim, 2 * dim)

    def forward(self, x):
        return x + self.mlp(self.norm(x))


class LM(nn.Module):
    def __init__(self, vocab=20, dim=8, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList([Block(dim) for _ in range(layers)])
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def upcycle(model):
    for layer in model.layers[1::2]:
        layer.mlp = MoE.from_dense(layer.mlp)
    return model


def train(model, steps, lr=0.1):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(steps):
        ids = torch.randint(0, 20, (4, 9))
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    model = LM()
    train(model, 2)
    model = upcycle(model)
    train(model, 3)
    first, *others = model.layers[1].mlp.experts
    return [torch.equal(first.w1.weight, other.w1.weight) for other in others]


def verify(outcome):
    assert all(outcome), outcome


TRUTH = Truth(
    fault="mine.data = theirs.data gives all experts one memory: they can never differ",
    names=("experts",),
    minor=True,  # steps of SGD add up, as where parameters are tied on purpose
    repair=("mine.data.copy_(theirs.data)",),
)
