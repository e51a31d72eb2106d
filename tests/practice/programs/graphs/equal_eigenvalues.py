"""Spectral features of a learned graph: eigenvectors of equal eigenvalues have no derivative."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LearnedGraph(nn.Module):
    def __init__(self, nodes):
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(nodes, nodes))

    def forward(self):
        symmetric = torch.sigmoid((self.logits + self.logits.t()) / 2)
        return symmetric * (1 - torch.eye(len(symmetric)))


def laplacian(adjacency):
    degree = adjacency.sum(1)
    scale = degree.rsqrt()
    return torch.eye(len(adjacency)) - scale.unsqueeze(1) * adjacency * scale.unsqueeze(0)


class SpectralNet(nn.Module):
    def __init__(self, nodes=6, features=4, classes=2, k=3):
        super().__init__()
        self.graph, self.k = LearnedGraph(nodes), k
        self.head = nn.Sequential(nn.Linear(features + k, 16), nn.ReLU(), nn.Linear(16, classes))

    def forward(self, x):
        values, vectors = torch.linalg.eigh(laplacian(self.graph()))  # cause
        return self.head(torch.cat([x, vectors[:, : self.k]], -1))


def run(steps=2):
    torch.manual_seed(0)
    net = SpectralNet()
    x, y = torch.randn(6, 4), torch.randint(0, 2, (6,))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2, weight_decay=5e-4)
    for _ in range(steps):
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.head.parameters(), 1.0)
        optimizer.step()
    return net.graph.logits.grad


TRUTH = Truth(
    fault="the derivative of eigh divides by the difference of equal eigenvalues",
    raises="linalg.eigh: The algorithm failed to converge",
    values=True,
    names=("eigh",),
    repair=("values, vectors = torch.linalg.eigh(laplacian(self.graph()) + torch.diag(torch.arange(6.0)) * 0.1)",),
)
