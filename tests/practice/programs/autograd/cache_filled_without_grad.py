"""Graph layer with a cache: the sanity validation fills it under no_grad, training then uses the constant."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class LearnedAdjacency(nn.Module):
    """Softmax over learned node vectors; kept until the step has changed them."""

    def __init__(self, nodes, rank=3):
        super().__init__()
        self.left = nn.Parameter(torch.randn(nodes, rank))
        self.right = nn.Parameter(torch.randn(nodes, rank))
        self.cache = None

    def matrix(self):
        if self.cache is None:  # cause
            self.cache = F.relu(self.left @ self.right.T).softmax(-1)  # also
        return self.cache

    def forget(self):
        self.cache = None


class GraphWaveNet(nn.Module):
    def __init__(self, nodes=5, features=4):
        super().__init__()
        self.adjacency = LearnedAdjacency(nodes)
        self.mix = nn.Linear(features, 8)
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        a = self.adjacency.matrix()
        return self.out(F.relu(self.mix(a @ x))).squeeze(-1)


class Loop:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        x = torch.randn(4, 5, 4)
        loss = F.mse_loss(self.model(x), x.mean(-1)).item()
        self.model.train()
        return loss

    def epoch(self, steps):
        for _ in range(steps):
            x = torch.randn(8, 5, 4)
            self.optimizer.zero_grad()
            F.mse_loss(self.model(x), x.roll(1, 1).mean(-1)).backward()
            self.optimizer.step()
            if self.model.adjacency.left.grad is not None:
                self.model.adjacency.forget()


def run():
    torch.manual_seed(0)
    model = GraphWaveNet()
    loop = Loop(model)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    loop.validate()  # a sanity check before the first epoch
    loop.epoch(3)
    return {n: torch.equal(p, start[n]) for n, p in model.named_parameters()}


def verify(outcome):
    assert outcome["adjacency.left"] and outcome["adjacency.right"]
    assert not outcome["mix.weight"]


TRUTH = Truth(
    fault="the cached matrix was computed under no_grad and cuts left and right off in training",
    names=("adjacency",),
    repair=("if self.cache is None or (torch.is_grad_enabled() and not self.cache.requires_grad):",),
)
