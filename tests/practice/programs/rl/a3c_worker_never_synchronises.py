"""A3C: the workers take the shared weights once and never again."""

import copy

import torch
from torch import nn
from torch.distributions import Categorical

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
        self.v = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))

    def loss(self, s, a, r):
        td = r - self.v(s).squeeze(-1)
        dist = Categorical(logits=self.pi(s))
        return (td.pow(2) - dist.log_prob(a) * td.detach()).mean()


class Worker:
    def __init__(self, shared, optimizer):
        self.shared, self.optimizer = shared, optimizer
        self.local = copy.deepcopy(shared)  # also

    def work(self):
        s, r = torch.randn(6, 3), torch.randn(6)
        with torch.no_grad():
            a = Categorical(logits=self.local.pi(s)).sample()
        self.local.zero_grad()
        loss = self.local.loss(s, a, r)
        loss.backward()
        for mine, theirs in zip(self.local.parameters(), self.shared.parameters()):
            theirs.grad = mine.grad
        self.optimizer.step()  # cause


def run():
    torch.manual_seed(0)
    shared = Net()
    optimizer = torch.optim.Adam(shared.parameters(), lr=1e-2)
    workers = [Worker(shared, optimizer) for _ in range(2)]
    for _ in range(3):
        for worker in workers:
            worker.work()
    return (workers[0].local.pi[0].weight - shared.pi[0].weight).abs().max().item()


TRUTH = Truth(
    fault="gradients of stale weights are applied for ever",
    repair=("self.optimizer.step(); self.local.load_state_dict(self.shared.state_dict())",),
)


def verify(apart):
    assert apart > 0.025
