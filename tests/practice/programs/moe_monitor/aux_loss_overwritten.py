"""Mixture of experts: a monitoring pass without gradient overwrites the auxiliary loss that the layers keep as an attribute."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Top2Router(nn.Module):
    def __init__(self, dim, n_experts):
        super().__init__()
        self.wg = nn.Linear(dim, n_experts, bias=False)
        self.n_experts = n_experts
        self.l_aux = None

    def forward(self, x):
        gates = self.wg(x).softmax(-1)
        weight, index = gates.topk(2, dim=-1)
        load = F.one_hot(index[..., 0], self.n_experts).float().flatten(0, -2).mean(0)
        importance = gates.flatten(0, -2).mean(0)
        self.l_aux = self.n_experts * (load * importance).sum()
        return weight / weight.sum(-1, keepdim=True), index


class MoELayer(nn.Module):
    def __init__(self, dim, n_experts=4):
        super().__init__()
        self.gate = Top2Router(dim, n_experts)
        self.experts = nn.ModuleList(
            [nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim)) for _ in range(n_experts)]
        )

    def forward(self, x):
        weight, index = self.gate(x)
        every = torch.stack([expert(x) for expert in self.experts], dim=-2)
        chosen = torch.gather(every, -2, index.unsqueeze(-1).expand(*index.shape, x.size(-1)))
        return x + (weight.unsqueeze(-1) * chosen).sum(-2)


class MoELM(nn.Module):
    def __init__(self, vocab=24, dim=8, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList([MoELayer(dim) for _ in range(layers)])
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)

    def aux_loss(self):
        return sum(layer.gate.l_aux for layer in self.layers)


class Trainer:
    def __init__(self, model, probe, coef=0.1):
        self.model, self.probe, self.coef = model, probe, coef
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        self.perplexity, self.aux_has_graph = [], []

    @torch.no_grad()
    def monitor(self):
        self.model.eval()
        logits = self.model(self.probe[:, :-1])
        self.perplexity.append(F.cross_entropy(logits.flatten(0, 1), self.probe[:, 1:].flatten()).exp().item())
        self.model.train()

    def step(self, ids):
        logits = self.model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        self.monitor()  # cause
        aux = self.model.aux_loss()  # also
        self.aux_has_graph.append(aux.requires_grad)
        loss = loss + self.coef * aux
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def run():
    torch.manual_seed(0)
    trainer = Trainer(MoELM(), probe=torch.randint(0, 24, (2, 9)))
    for _ in range(3):
        trainer.step(torch.randint(0, 24, (4, 9)))
    return trainer.aux_has_graph


def verify(outcome):
    assert not any(outcome), outcome


TRUTH = Truth(
    fault="the pass without gradient replaces l_aux between forward and loss: the balancing loss has no gradient",
    names=("l_aux",),
    repair=("pass",),
)
