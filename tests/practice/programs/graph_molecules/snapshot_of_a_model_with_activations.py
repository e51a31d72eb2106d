"""Graph attention: the layer keeps its last attention (with graph) as an attribute, copy.deepcopy(model) for the snapshot raises."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class GraphAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.project = nn.Linear(dim, dim, bias=False)
        self.score = nn.Linear(2 * dim, 1, bias=False)
        self.attention = None  # of the last graph, for the figures

    def forward(self, h, adjacency):
        n = h.size(0)
        z = self.project(h)
        pair = torch.cat([z[:, None].expand(n, n, -1), z[None].expand(n, n, -1)], -1)
        e = F.leaky_relu(self.score(pair).squeeze(-1), 0.2)
        attention = e.masked_fill(~adjacency, float("-inf")).softmax(-1)
        self.attention = attention  # cause
        return F.elu(attention @ z)


class ToxicityNet(nn.Module):
    def __init__(self, atoms=5, dim=8):
        super().__init__()
        self.embed = nn.Embedding(atoms, dim)
        self.layer = GraphAttention(dim)
        self.out = nn.Linear(dim, 1)

    def forward(self, atoms, adjacency):
        return self.out(self.layer(self.embed(atoms), adjacency).mean(0))


def molecule(n=6):
    atoms = torch.randint(5, (n,))
    adjacency = torch.rand(n, n) < 0.4
    adjacency = adjacency | adjacency.t() | torch.eye(n, dtype=torch.bool)
    return atoms, adjacency, (atoms == 0).any().float()[None]


def run():
    torch.manual_seed(0)
    model = ToxicityNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    best, snapshot = float("inf"), None
    for _ in range(3):
        total = 0.0
        for _ in range(4):
            atoms, adjacency, toxic = molecule()
            loss = F.binary_cross_entropy_with_logits(model(atoms, adjacency), toxic)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if total < best:
            best = total
            snapshot = copy.deepcopy(model)  # symptom
    return snapshot


TRUTH = Truth(
    fault="the stored attention is no leaf; deepcopy of the module refuses it",
    names=("attention", "deepcopy"),
    raises="Only Tensors created explicitly by the user",
    repair=("self.attention = attention.detach()",),
)
