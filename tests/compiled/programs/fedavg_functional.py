"""Federated learning: clients train a compiled functional call of the global net, the server averages."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth

TRUTH = Truth(
    fault="running statistics are written to each client's copies and never come back: the server keeps 0 and 1",
    names=("buffers", "running_mean", "functional_call"),
    repair=("buffers = dict(server.named_buffers())",),
)


def make():
    return nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))


class Client:
    def __init__(self, shift):
        self.shift = shift

    def batch(self):
        x = torch.randn(16, 6) + self.shift
        return x, (x[:, 0] > self.shift).long() + (x[:, 1] > self.shift).long()


def local_training(objective, server, client, steps=2):
    params = {name: p.detach().clone().requires_grad_() for name, p in server.named_parameters()}
    buffers = {name: b.clone() for name, b in server.named_buffers()}  # cause
    optimizer = torch.optim.SGD(params.values(), lr=0.1)
    for _ in range(steps):
        loss = objective(params, buffers, *client.batch())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return params


@torch.no_grad()
def aggregate(server, results):
    for name, p in server.named_parameters():
        p.copy_(torch.stack([result[name] for result in results]).mean(0))


@torch.no_grad()
def accuracy(server, clients):
    server.eval()
    hits = [(server(x).argmax(1) == y).float().mean() for x, y in (client.batch() for client in clients)]  # symptom
    server.train()
    return torch.stack(hits).mean().item()


def setup():
    torch.manual_seed(0)


def run():
    server = make()
    clients = [Client(2.0), Client(4.0)]

    @torch.compile(backend=BACKEND)
    def objective(params, buffers, x, y):
        return F.cross_entropy(functional_call(server, (params, buffers), (x,)), y)

    log = []
    for _ in range(3):
        aggregate(server, [local_training(objective, server, client) for client in clients])
        log.append(accuracy(server, clients))
    return server[1].running_mean.clone(), server[1].num_batches_tracked.item(), log


def verify(outcome):
    mean, batches, _ = outcome
    assert batches == 0 and torch.equal(mean, torch.zeros(16))
