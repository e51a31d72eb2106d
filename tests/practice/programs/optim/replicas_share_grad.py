"""Data parallel by hand: both replicas are given the very same averaged gradient tensor, and the second one adds its weight decay to what the first has added."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self, width=16, classes=4):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(8, width), nn.GELU(), nn.LayerNorm(width), nn.Linear(width, width), nn.GELU()
        )
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.body(x))


class Replica:
    """One worker: a model, its optimizer and its shard of the data."""

    def __init__(self, model, shard, lr=0.1, weight_decay=0.1):
        self.model, self.shard = model, shard
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.weight_decay = weight_decay

    def backward(self, step):
        x, y = self.shard[step % len(self.shard)]
        self.optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        return loss.item()

    def update(self):
        with torch.no_grad():
            for p in self.model.parameters():
                p.grad.add_(p, alpha=self.weight_decay)
        self.optimizer.step()


def all_reduce(replicas):
    """Every worker gets the mean of the workers' gradients."""
    for params in zip(*(r.model.parameters() for r in replicas)):
        mean = torch.stack([p.grad for p in params]).mean(0)
        for p in params:
            p.grad = mean  # cause


def divergence(replicas):
    a, b = (r.model.state_dict() for r in replicas[:2])
    return max(float((a[n] - b[n]).abs().max()) for n in a)


def run():
    torch.manual_seed(0)
    model = Net()
    shards = [[(torch.randn(8, 8), torch.randint(0, 4, (8,))) for _ in range(2)] for _ in range(2)]
    replicas = [Replica(copy.deepcopy(model), shard) for shard in shards]
    apart = []
    for step in range(3):
        for replica in replicas:
            replica.backward(step)
        all_reduce(replicas)
        for replica in replicas:
            replica.update()
        apart.append(divergence(replicas))
    return apart


def verify(apart):
    assert min(apart) > 1e-5


TRUTH = Truth(
    fault="the replicas share one gradient tensor; the weight decay of the first is added for the second as well",
    names=("grad",),
    repair=("p.grad = mean.clone()",),
)
