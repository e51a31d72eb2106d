"""Each expert layer appends its balance loss to a list that nobody empties: the second step meets the first graph."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class MoE(nn.Module):
    def __init__(self, dim=8, experts=3):
        super().__init__()
        self.router = nn.Linear(dim, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 16), nn.GELU(), nn.Linear(16, dim)) for _ in range(experts)
        )
        self.aux_losses = []

    def forward(self, x):
        flat = x.flatten(0, 1)
        probs = self.router(flat).softmax(-1)
        weight, index = probs.topk(2, -1)
        out = torch.zeros_like(flat)
        for e, expert in enumerate(self.experts):
            rows, slot = (index == e).nonzero(as_tuple=True)
            out = out.index_add(0, rows, weight[rows, slot, None] * expert(flat[rows]))
        share = F.one_hot(index[:, 0], len(self.experts)).float().mean(0)
        self.aux_losses.append(len(self.experts) * (share * probs.mean(0)).sum())  # cause
        return out.view_as(x)


class SwitchLM(nn.Module):
    def __init__(self, vocab=13, dim=8):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(MoE(dim) for _ in range(2))
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        h = self.wte(ids)
        for layer in self.layers:
            h = h + layer(h)
        return self.head(h)

    def balance(self):
        return sum(aux for layer in self.layers for aux in layer.aux_losses)  # also


def run():
    torch.manual_seed(0)
    model = SwitchLM()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(3):
        ids = torch.randint(13, (4, 6))
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        loss = loss + 0.01 * model.balance()
        opt.zero_grad()
        loss.backward()  # symptom
        opt.step()
    return model


TRUTH = Truth(
    fault="balance losses of earlier steps are added again",
    raises="Trying to backward through the graph a second time",
    repair=("self.aux_losses = [len(self.experts) * (share * probs.mean(0)).sum()]",),
)
